"""data/images: picture files in many forms, what sd-scripts' load_image gives, and resizing with the centre cut."""
import random

import numpy as np
import torch
from PIL import Image

from reference import write_json, write_tensors

INTERPOLATIONS = ['lanczos', 'bilinear', 'bicubic', 'nearest', 'box', 'area']


def content(rng, width, height, channels):
    """Soft shapes with some noise, so that both resizing and lossy formats have something to do."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    layers = []
    for _ in range(channels):
        fx, fy, phase = rng.uniform(0.02, 0.4), rng.uniform(0.02, 0.4), rng.uniform(0, 6)
        layers.append(127 + 100 * np.sin(fx * x + phase) * np.cos(fy * y))
    noise = np.random.default_rng(rng.randrange(2**32)).normal(0, 12, (height, width, channels))
    return np.clip(np.stack(layers, -1) + noise, 0, 255).astype(np.uint8)


def with_orientation(picture, value):
    exif = Image.Exif()
    exif[0x0112] = value
    return exif.tobytes()


def draw_files(rng, side):
    """(name, picture, arguments of save)"""
    def size():
        return rng.randint(side // 2, side), rng.randint(side // 2, side)

    def rgb():
        return Image.fromarray(content(rng, *size(), 3))

    def rgba():
        return Image.fromarray(content(rng, *size(), 4))

    def gray():
        return Image.fromarray(content(rng, *size(), 1)[:, :, 0])

    def wide(channels):
        return content(rng, *size(), channels).astype(np.uint16) * 257 + rng.randint(0, 200)

    yield 'rgb.png', rgb(), {}
    yield 'rgba.png', rgba(), {}
    yield 'gray.png', gray(), {}
    yield 'gray_alpha.png', Image.fromarray(content(rng, *size(), 2), 'LA'), {}
    yield 'gray16.png', Image.fromarray(wide(1)[:, :, 0].copy()), {}
    yield 'bilevel.png', gray().convert('1'), {}
    for bits, colours in ((1, 2), (2, 4), (4, 16), (8, 200)):
        yield f'palette{bits}.png', rgb().quantize(colours), {'bits': bits}
    yield 'palette_transparent.png', rgb().quantize(32), {'transparency': 3}
    yield 'palette_alphas.png', rgb().quantize(8), {'transparency': bytes([0, 255, 100, 7, 255])}
    yield 'gray_transparent.png', gray(), {'transparency': 120}
    yield 'rgb_transparent.png', rgb(), {'transparency': (120, 130, 140)}
    yield 'one_pixel.png', Image.fromarray(content(rng, 1, 1, 3)), {}
    yield 'tall.png', Image.fromarray(content(rng, max(3, side // 8), 2 * side, 3)), {}
    yield 'rgb.bmp', rgb(), {}
    yield 'gray.bmp', gray(), {}
    yield 'palette.bmp', rgb().quantize(100), {}
    yield 'bilevel.bmp', gray().convert('1'), {}
    yield 'rgba.bmp', rgba(), {}
    for quality, subsampling in ((75, 2), (90, 0), (95, 1), (30, 2)):
        yield f'rgb_q{quality}_{subsampling}.jpg', rgb(), {'quality': quality, 'subsampling': subsampling}
    yield 'progressive.jpg', rgb(), {'progressive': True}
    yield 'gray.jpeg', gray(), {}
    yield 'cmyk.jpg', rgb().convert('CMYK'), {'quality': 92}
    picture = rgb()
    yield 'exif_rotate.jpg', picture, {'exif': with_orientation(picture, rng.randint(2, 8))}
    yield 'exif_rotate.png', picture, {'exif': with_orientation(picture, rng.randint(2, 8))}
    yield 'lossless.webp', rgb(), {'lossless': True}
    yield 'lossless_alpha.webp', rgba(), {'lossless': True, 'exact': True}
    yield 'lossy.webp', rgb(), {'quality': 80}
    picture = rgb()
    yield 'animated.webp', picture, {'lossless': True, 'save_all': True, 'append_images': [picture.rotate(180)]}


def cases(rng, names, sizes):
    """(file, whether with alpha, bucket, interpolation): smaller, larger, mixed, all methods."""
    for name in names:
        width, height = sizes[name]
        for _ in range(2):
            bucket = (max(1, int(width * rng.uniform(0.3, 1.9))), max(1, int(height * rng.uniform(0.3, 1.9))))
            yield name, name.startswith('rgba'), bucket, None
    for method in INTERPOLATIONS:
        width, height = sizes['rgb.png']
        for low, high in ((0.3, 0.9), (1.1, 2.2)):
            yield 'rgb.png', False, (int(width * rng.uniform(low, high)), int(height * rng.uniform(low, high))), method
    width, height = sizes['rgb.png']
    yield 'rgb.png', False, (width, height), None
    yield 'rgb.png', False, (width // 2, height // 2), None
    yield 'tall.png', False, (sizes['tall.png'][0] * 2, sizes['tall.png'][1] // 3), None


def write(folder, side, seed):
    import imagesize
    from library import train_util
    rng = random.Random(seed)
    images = folder / 'images'
    images.mkdir(parents=True, exist_ok=True)
    files, tensors, sizes, loaded = [], {}, {}, {}
    for name, picture, options in draw_files(rng, side):
        picture.save(images / name, **options)
        with Image.open(images / name) as opened:
            files.append({'file': name, 'pil_mode': opened.mode, 'pil_size': list(opened.size),
                          'imagesize_get': list(imagesize.get(str(images / name)))})
            sizes[name] = opened.size
            has_alpha = opened.mode in ('RGBA', 'LA', 'PA') or 'transparency' in opened.info or name == 'rgb.png'
        for alpha in (False, True) if has_alpha else (False,):
            loaded[name, alpha] = train_util.load_image(str(images / name), alpha)
            tensors[f'{name}.load.{"rgba" if alpha else "rgb"}'] = torch.from_numpy(loaded[name, alpha])
    tensors['normalised.rgb.png'] = train_util.IMAGE_TRANSFORMS(loaded['rgb.png', False])

    described = []
    for number, (name, alpha, bucket, method) in enumerate(cases(rng, ['rgb.png', 'rgba.png', 'gray.png', 'lossless.webp'], sizes)):
        width, height = sizes[name]
        scale = max(bucket[0] / width, bucket[1] / height)
        # The side that fits exactly is the bucket's, as the reference computes it.
        resized = tuple(max(bucket[i], int(sizes[name][i] * scale + 0.5)) for i in range(2))
        pixels, original, crop = train_util.trim_and_resize_if_required(False, loaded[name, alpha], bucket, resized, method)
        key = f'resize.{number}'
        tensors[key] = torch.from_numpy(np.ascontiguousarray(pixels))
        described.append({'key': key, 'file': name, 'bucket': list(bucket), 'resized': list(resized), 'interpolation': method,
                          'original_size': list(original), 'crop_ltrb': [float(value) for value in crop], 'alpha': alpha})
    write_tensors(folder / 'images.safetensors', tensors)
    write_json(folder / 'images.json', {'files': files, 'resize_cases': described,
                                        'note': 'arrays are uint8 [height, width, channel]; normalised: float [3, h, w] = x/255*2-1'})
