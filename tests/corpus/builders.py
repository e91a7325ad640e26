"""Builds files byte by byte, so that each may have one defect."""

import json
import struct
import zlib


def safetensors(header, data=b"", pad=0):
    """`header`: an object or the raw text of one."""
    text = header if isinstance(header, bytes) else (header.encode() if isinstance(header, str) else json.dumps(header).encode())
    text += b" " * pad
    return struct.pack("<Q", len(text)) + text + data


def tensor(dtype="F32", shape=(2,), begin=0, end=8):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


class Zip:
    """A zip archive whose fields can be set one by one (PKWARE APPNOTE 6.3, section 4.3)."""

    def __init__(self):
        self.body = b""
        self.directory = b""
        self.count = 0

    def add(self, name, content=b"", *, method=0, flags=0, crc=None, size=None, stored=None, offset=None, extra=b"",
            local_name=None, local_flags=None, local_crc=None, local_size=None, local_extra=b"", signature=b"PK\3\4",
            central_signature=b"PK\1\2", local_method=None):
        name = name.encode() if isinstance(name, str) else name
        crc = zlib.crc32(content) if crc is None else crc
        size = len(content) if size is None else size
        stored = size if stored is None else stored
        inner = name if local_name is None else local_name
        at = len(self.body) if offset is None else offset
        self.body += signature + struct.pack(
            "<HHHHHIIIHH", 20, flags if local_flags is None else local_flags, method if local_method is None else local_method,
            0, 0, crc if local_crc is None else local_crc, size if local_size is None else local_size,
            stored if local_size is None else local_size, len(inner), len(local_extra)) + inner + local_extra + content
        self.directory += central_signature + struct.pack(
            "<HHHHHHIIIHHHHHII", 20, 20, flags, method, 0, 0, crc, stored, size, len(name), len(extra), 0, 0, 0, 0,
            at) + name + extra
        self.count += 1
        return self

    def end(self, *, count=None, first=None, bytes_=None, offset=None, disk=0, comment=b"", comment_bytes=None):
        count = self.count if count is None else count
        return struct.pack("<4sHHHHIIH", b"PK\5\6", disk, disk, count if first is None else first, count,
                           len(self.directory) if bytes_ is None else bytes_, len(self.body) if offset is None else offset,
                           len(comment) if comment_bytes is None else comment_bytes) + comment

    def end64(self, *, count=None, first=None, bytes_=None, offset=None, position=None, signature=b"PK\6\6", disk=0):
        count = self.count if count is None else count
        record = struct.pack("<4sQHHIIQQQQ", signature, 44, 45, 45, disk, 0, count if first is None else first, count,
                             len(self.directory) if bytes_ is None else bytes_, len(self.body) if offset is None else offset)
        at = len(self.body) + len(self.directory) if position is None else position
        return record + struct.pack("<4sIQI", b"PK\6\7", 0, at, 1)

    def done(self, **end):
        return self.body + self.directory + self.end(**end)


def archive(entries, **end):
    result = Zip()
    for name, content in entries:
        result.add(name, content)
    return result.done(**end)


# Pieces of a pickle of protocol 2 (Python's Lib/pickletools.py).
def text(value):
    raw = value.encode() if isinstance(value, str) else value
    return b"X" + struct.pack("<I", len(raw)) + raw


def number(value):
    return b"J" + struct.pack("<i", value)


def tuple_(*items):
    return b"(" + b"".join(items) + b"t"


def name_of(module, name):
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n"


def storage(kind="FloatStorage", key="0", size=6):
    return tuple_(text("storage"), name_of("torch", kind), text(key), text("cpu"), number(size)) + b"Q"


HOOKS = name_of("collections", "OrderedDict") + b")R"


def rebuilt(store, offset=0, shape=(2, 3), strides=(3, 1)):
    return name_of("torch._utils", "_rebuild_tensor_v2") + tuple_(
        store, number(offset), tuple_(*map(number, shape)), tuple_(*map(number, strides)), b"\x89", HOOKS) + b"R"


def dictionary(*items):
    return b"}(" + b"".join(text(key) + value for key, value in items) + b"u"


def pickle(value, protocol=2):
    return b"\x80" + bytes([protocol]) + value + b"."


FLOATS = struct.pack("<6f", *range(6))


def torch_file(code, storages=(FLOATS,), extra=(), order=b"little"):
    entries = [("archive/data.pkl", code), ("archive/byteorder", order)]
    entries += [(f"archive/data/{i}", content) for i, content in enumerate(storages)]
    return archive(entries + list(extra))


def npy(descr="'<f4'", shape="(2,)", data=bytes(8), *, order="False", header=None, version=1, magic=b"\x93NUMPY", length=None):
    body = header if header is not None else f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"
    raw = body.encode()
    size = len(raw) if length is None else length
    prefix = magic + bytes([version, 0]) + (struct.pack("<H", size) if version == 1 else struct.pack("<I", size))
    return prefix + raw + data


def chunk(kind, data=b"", crc=None):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data) if crc is None else crc)


def png(width=4, height=3, *, depth=8, colour=2, pixels=None, extra=b"", end=True, interlace=0):
    rows = b"".join(b"\0" + bytes(width * 3) for _ in range(height)) if pixels is None else pixels
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)) + extra +
            chunk(b"IDAT", zlib.compress(rows)) + (chunk(b"IEND") if end else b""))


def bmp(width=2, height=2, *, bits=24, compression=0, header=40, pixels=None, start=None, colours=0):
    row = (width * bits + 31) // 32 * 4
    data = bytes(row * abs(height)) if pixels is None else pixels
    palette = bytes(4 << bits) if bits <= 8 else b""
    at = 14 + 40 + len(palette) if start is None else start
    return (b"BM" + struct.pack("<IHHI", at + len(data), 0, 0, at) +
            struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, len(data), 2835, 2835, colours, 0) + palette + data)


def tiff_block(tag=274, kind=3, value=6, *, order="<", count=1):
    mark = b"II*\0" if order == "<" else b"MM\0*"
    field = struct.pack(order + "HHI", tag, kind, 1) + (struct.pack(order + "HH", value, 0) if kind == 3 else struct.pack(order + "I", value))
    return mark + struct.pack(order + "IH", 8, count) + field + bytes(4)
