"""Pictures: PNG, JPEG, GIF, WebP, BMP, TIFF, AVIF."""

import struct
import zlib

from builders import bmp, chunk, png, tiff_block


def jpeg_part(marker, data=b""):
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def jpeg(width=4, height=3, *, extra=b"", end=b"\xff\xd9", frame=0xC0, scan=True):
    """A header with everything that a probe looks at; it holds no decodable scan."""
    size = jpeg_part(frame, struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00")
    return b"\xff\xd8" + extra + size + (jpeg_part(0xDA, b"\x01\x01\x00\x00\x3f\x00") + b"\x12\x34" if scan else b"") + end


def webp(kind=b"VP8 ", body=None, *, length=None):
    if body is None:
        body = bytes(3) + b"\x9d\x01\x2a" + struct.pack("<HH", 4, 3) + bytes(4)
    part = kind + struct.pack("<I", len(body)) + body + b"\0" * (len(body) & 1)
    return b"RIFF" + struct.pack("<I", len(part) + 4 if length is None else length) + b"WEBP" + part


def webp_large(width, height, flags=0, more=b""):
    body = bytes([flags, 0, 0, 0]) + struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    part = b"VP8X" + struct.pack("<I", 10) + body + more
    return b"RIFF" + struct.pack("<I", len(part) + 4) + b"WEBP" + part


def gif(width=4, height=3, *, end=b";"):
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + bytes(6) + b"\x2c" + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x02\x02\x4c\x01\x00" + end


def box(kind, data=b"", length=None):
    return struct.pack(">I", len(data) + 8 if length is None else length) + kind + data


def avif(width=4, height=3, *, turned=False, length=None):
    size = box(b"ispe", struct.pack(">III", 0, width, height))
    turn = box(b"irot", b"\x01") if turned else b""
    meta = box(b"meta", bytes(4) + box(b"iprp", box(b"ipco", size + turn)), length)
    return box(b"ftyp", b"avif" + bytes(4) + b"avifmif1") + meta


def tiff(width=4, height=3, *, order="<", offset=8, count=None):
    fields = [(256, 3, width), (257, 3, height), (274, 3, 6)]
    raw = b"".join(struct.pack(order + "HHIHH", tag, kind, 1, value, 0) for tag, kind, value in fields)
    mark = b"II*\0" if order == "<" else b"MM\0*"
    return mark + struct.pack(order + "IH", offset, len(fields) if count is None else count) + raw + bytes(4)


def picture_files():
    exif = chunk(b"eXIf", tiff_block())
    huge = chunk(b"IHDR", struct.pack(">IIBBBBB", 1 << 30, 1 << 30, 8, 2, 0, 0, 0))
    signature = b"\x89PNG\r\n\x1a\n"
    whole = png()
    bad = {
        "empty.png": (b"", "the file is empty"),
        "one_byte.png": (b"\x89", "the content is something else"),
        "web_page.png": (b"<!DOCTYPE html><html>", "the content is a web page"),
        "svg.png": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "an SVG or XML file"),
        "pdf.png": (b"%PDF-1.7", "the content is a PDF file"),
        "photoshop.png": (b"8BPS\0\1" + bytes(20), "a Photoshop file"),
        "heic.png": (b"\0\0\0\x18ftypheic" + bytes(12), "a HEIC picture"),
        "jpeg_xl.png": (b"\xff\x0a" + bytes(14), "a JPEG XL picture"),
        "text.png": (b"not a picture at all", "the content is something else"),
        "signature_alone.png": (signature, "the PNG header is broken or cut off"),
        "no_header.png": (signature + chunk(b"IDAT", b""), "the PNG header is broken"),
        "width_zero.png": (png(0, 3), "the PNG header is broken"),
        "height_zero.png": (png(4, 0), "the PNG header is broken"),
        "side_of_30_bits.png": (signature + huge + chunk(b"IEND"), "at most 16384 a side"),
        "side_of_32_bits.png": (signature + chunk(b"IHDR", struct.pack(">IIBBBBB", 0xFFFFFFFF, 1, 8, 2, 0, 0, 0)), "at most 16384 a side"),
        "too_many_pixels.png": (signature + chunk(b"IHDR", struct.pack(">IIBBBBB", 16384, 16385, 8, 2, 0, 0, 0)), "at most 16384 a side"),
        "cut_in_pixels.png": (whole[:-25], "it cannot be decoded"),
        "cut_before_pixels.png": (whole[:33], "it cannot be decoded"),
        "pixels_damaged.png": (whole.replace(whole[41:45], b"\xff\xff\xff\xff"), "it cannot be decoded"),
        "checksum_of_header.png": (whole[:29] + b"\0\0\0\0" + whole[33:], "it cannot be decoded"),
        "depth_three.png": (png(depth=3), "it cannot be decoded"),
        "colour_type_five.png": (png(colour=5), "it cannot be decoded"),
        "interlace_nine.png": (png(interlace=9), "it cannot be decoded"),
        "too_few_rows.png": (png(pixels=bytes(13)), "it cannot be decoded"),
        "start_alone.jpg": (b"\xff\xd8\xff", "the content is something else"),
        "no_frame.jpg": (b"\xff\xd8" + jpeg_part(0xE0, b"JFIF\0") + b"\xff\xd9", "the JPEG header is broken"),
        "height_zero.jpg": (jpeg(4, 0), "the JPEG header is broken"),
        "part_of_one_byte.jpg": (b"\xff\xd8\xff\xe0\x00\x01" + jpeg()[2:], "the JPEG header is broken"),
        "part_beyond_file.jpg": (b"\xff\xd8\xff\xe0\xff\xff" + bytes(40), "the JPEG header is broken"),
        "too_wide.jpg": (jpeg(65535, 65535), "at most 16384 a side"),
        "no_tables.jpg": (jpeg(), "it cannot be decoded"),
        "frame_of_unknown_kind.jpg": (jpeg(frame=0xCB), "it cannot be decoded"),
        "signature_alone.gif": (b"GIF89a", "the GIF header is broken"),
        "width_zero.gif": (gif(0, 3), "the GIF header is broken"),
        "no_frame.gif": (gif()[:19] + b";", "it cannot be decoded"),
        "too_wide.gif": (gif(65535, 1), "at most 16384 a side"),
        "signature_alone.webp": (b"RIFF\4\0\0\0WEBP", "the WebP header is broken"),
        "part_unknown.webp": (webp(b"VP9 "), "the WebP header is broken"),
        "start_code_wrong.webp": (webp(b"VP8 ", bytes(14)), "the WebP header is broken"),
        "lossless_mark_wrong.webp": (webp(b"VP8L", b"\x2e" + bytes(9)), "the WebP header is broken"),
        "too_large.webp": (webp_large(1 << 24, 1 << 24), "at most 16384 a side"),
        "no_pixels.webp": (webp_large(4, 3), "it cannot be decoded"),
        "header_alone.bmp": (b"BM" + bytes(12), "the BMP header is broken"),
        "header_unknown.bmp": (bmp(header=39), "an unknown version"),
        "width_negative.bmp": (bmp(-2, 2, pixels=b""), "the BMP header is broken"),
        "bits_seven.bmp": (bmp(bits=7, pixels=bytes(64)), "BMP with 7 bits a pixel"),
        "compressed.bmp": (bmp(bits=8, compression=1), "compressed BMP is not supported"),
        "cut_off.bmp": (bmp()[:-3], "the BMP is cut off"),
        "pixels_beyond_file.bmp": (bmp(start=1 << 31), "the BMP is cut off"),
        "rows_beyond_file.bmp": (bmp(16000, 16000, pixels=b""), "the BMP is cut off"),
        "too_high.bmp": (bmp(2, -(1 << 31), pixels=b""), "at most 16384 a side"),
        "no_directory.tif": (b"II*\0" + struct.pack("<I", 8), "the TIFF header is broken"),
        "directory_beyond_file.tif": (tiff(offset=1 << 30), "the TIFF header is broken"),
        "no_pixels.tif": (tiff(), "it cannot be decoded"),
        "directory_cut_off.tif": (tiff(count=65535), "it cannot be decoded"),
        "no_size.avif": (box(b"ftyp", b"avif" + bytes(4)), "the AVIF header is broken"),
        "too_large.avif": (avif(1 << 31, 1 << 31), "at most 16384 a side"),
        "no_pixels.avif": (avif(), "it cannot be decoded"),
    }
    good = {
        "plain.png": whole,
        "turned.png": png(extra=exif),
        "other_extension.jpg": whole,
        "text_inside.png": png(extra=chunk(b"tEXt", b"Comment\0<script>")),
        "plain.bmp": bmp(),
        "from_top.bmp": bmp(3, -2),
        "palette.bmp": bmp(bits=8),
        "two_colours.bmp": bmp(9, 2, bits=1),
        "sixteen_bits.bmp": bmp(bits=16),
        "thirty_two_bits.bmp": bmp(bits=32),
    }
    # For the fuzz target alone, which decodes nothing.
    probed = {
        "plain.jpg": jpeg(),
        "turned.jpg": jpeg(extra=jpeg_part(0xE1, b"Exif\0\0" + tiff_block(order=">"))),
        "turned_twice.jpg": jpeg(extra=jpeg_part(0xE1, b"Exif\0\0" + tiff_block()) * 2),
        "thumbnail.jpg": jpeg(extra=jpeg_part(0xE1, b"Exif\0\0" + tiff_block() + jpeg())),
        "fill_bytes.jpg": jpeg(extra=b"\xff" * 9),
        "no_end.jpg": jpeg(end=b""),
        "plain.gif": gif(),
        "no_end.gif": gif(end=b""),
        "plain.webp": webp(),
        "lossless.webp": webp(b"VP8L", b"\x2f" + struct.pack("<I", 3 | 2 << 14) + bytes(5)),
        "large.webp": webp_large(40, 30),
        "turned.webp": webp_large(40, 30, 8, b"EXIF" + struct.pack("<I", 26) + tiff_block()[:26]),
        "animated.webp": webp_large(40, 30, 2),
        "length_zero.webp": webp_large(40, 30, 8, b"XXXX" + bytes(4)),
        "plain.tif": tiff(),
        "big_endian.tif": tiff(order=">"),
        "plain.avif": avif(),
        "turned.avif": avif(turned=True),
        "box_lengths.avif": avif(length=1),
        "animated.png": png(extra=chunk(b"acTL", struct.pack(">II", 2, 0))),
        "turned_often.png": png(extra=exif * 20),
        "no_end.png": png(end=False),
        "core_header.bmp": b"BM" + struct.pack("<IHHI", 40, 0, 0, 26) + struct.pack("<IHHHH", 12, 2, 2, 1, 24) + bytes(16),
        "masks.bmp": bmp(bits=32, compression=3),
        "masks_odd.bmp": bmp(bits=16, compression=6, colours=3),
    }
    return bad, good, probed
