#!/usr/bin/env python3
"""Makes the pictures that the embedded model is trained on, and the drawing of the demo's character.

    python3 make_pictures.py OUT

Needs the distribution's packages fonts-noto-color-emoji and unicode-data, and the Python packages fonttools, pillow, numpy
and safetensors. The pictures that the program ships are committed; this script is only needed to make the set again.

OUT/base/3_white, OUT/base/1_colours   32 subjects on ten backgrounds, with captions, as folders of a data set
OUT/zibo                               the character "zibo" on the ten backgrounds, with captions
OUT/emoji.safetensors                  all emoji at three sizes, uint8 [N, 64, 64, 4], colour premultiplied by alpha:
                                       size_46, size_52, size_58; subjects [32]: their row numbers in the order of SUBJECTS
"""
import io
import pathlib
import sys

import numpy as np
from fontTools.ttLib import TTFont
from PIL import Image, ImageDraw
from safetensors.numpy import save_file

FONT = "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf"
EMOJI_TEST = "/usr/share/unicode/emoji/emoji-test.txt"
LEFT_OUT_GROUPS = ("Flags", "People & Body", "Symbols", "Component")

BACKGROUNDS = {
    "white": (255, 255, 255), "black": (24, 24, 24), "grey": (150, 150, 150), "red": (214, 60, 56),
    "orange": (244, 150, 50), "yellow": (250, 218, 94), "green": (86, 176, 92), "blue": (70, 120, 214),
    "purple": (142, 90, 190), "pink": (246, 166, 196),
}
SUBJECTS = """dog face, cat face, lion, fox, panda, cow face, pig face, frog, penguin, owl, octopus, butterfly, rose, tulip,
cactus, mushroom, red apple, lemon, banana, watermelon, strawberry, carrot, hamburger, pizza, doughnut, grinning face, ghost,
robot, red heart, house, rocket, balloon""".replace("\n", " ").split(", ")


def emoji_names():
    """(code point, name) of each fully qualified emoji of one code point, in the order of the list."""
    group, found = "", []
    for line in open(EMOJI_TEST, encoding="utf-8"):
        if line.startswith("# group:"):
            group = line.split(":", 1)[1].strip()
        if group in LEFT_OUT_GROUPS and "red heart" not in line or "; fully-qualified" not in line:
            continue
        points = [int(p, 16) for p in line.split(";")[0].split() if p != "FE0F"]
        name = line.split("#", 1)[1].split(None, 2)[2].strip()
        if len(points) == 1:
            found.append((points[0], name))
    return found


def bitmaps():
    """Code point -> PNG picture of the font's colour bitmap table, straight alpha."""
    font = TTFont(FONT)
    strike = font["CBDT"].strikeData[0]
    cmap = font.getBestCmap()
    return {point: Image.open(io.BytesIO(strike[glyph].imageData)).convert("RGBA")
            for point, glyph in cmap.items() if glyph in strike}


def resized(picture, side):
    """Premultiplied float RGBA [64, 64, 4] in 0..1: the picture at `side` pixels, centred."""
    straight = np.asarray(picture, np.float32) / 255
    premultiplied = np.concatenate([straight[..., :3] * straight[..., 3:], straight[..., 3:]], -1)
    height, width = premultiplied.shape[:2]
    square = np.zeros((136, 136, 4), np.float32)
    top, left = (136 - height) // 2, (136 - width) // 2
    square[top:top + height, left:left + width] = premultiplied
    channels = [np.asarray(Image.fromarray(square[..., c], "F").resize((side, side), Image.LANCZOS)) for c in range(4)]
    out = np.zeros((64, 64, 4), np.float32)
    corner = (64 - side) // 2
    out[corner:corner + side, corner:corner + side] = np.clip(np.stack(channels, -1), 0, 1)
    return out


def on_background(premultiplied, colour):
    rgb = premultiplied[..., :3] * 255 + (1 - premultiplied[..., 3:]) * np.array(colour, np.float32)
    return Image.fromarray(np.clip(rgb + 0.5, 0, 255).astype(np.uint8))


def draw_zibo(colour):
    """The made-up character: a round teal body, antennae, one eye; drawn at eight times the size, Lanczos down."""
    k = 8
    picture = Image.new("RGB", (64 * k, 64 * k), colour)
    draw = ImageDraw.Draw(picture)

    def ellipse(cx, cy, rx, ry, fill):
        draw.ellipse([(cx - rx) * k, (cy - ry) * k, (cx + rx) * k, (cy + ry) * k], fill=fill)

    for x in (22, 42):
        draw.line([((32 + (x - 32) / 2) * k, 22 * k), (x * k, 9 * k)], fill=(0, 105, 110), width=int(2.5 * k))
        ellipse(x, 9, 4, 4, (255, 196, 0))
    for x in (23, 41):
        ellipse(x, 56, 6, 3.5, (240, 120, 30))
    ellipse(32, 37, 19, 19, (0, 150, 150))
    ellipse(32, 44, 11, 10, (150, 235, 220))
    ellipse(32, 29, 9, 9, (255, 255, 255))
    ellipse(32, 30, 4.5, 4.5, (40, 20, 90))
    ellipse(33.5, 28, 1.5, 1.5, (255, 255, 255))
    return picture.resize((64, 64), Image.LANCZOS)


def save(folder, subject, background, picture):
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{subject} {background}".replace(" ", "_")
    picture.save(folder / f"{stem}.png", optimize=True)
    (folder / f"{stem}.txt").write_text(f"{subject} on a {background} background\n")


def main():
    out = pathlib.Path(sys.argv[1])
    pictures = bitmaps()
    names = [(point, name) for point, name in emoji_names() if point in pictures]
    row_of = {name: row for row, (_, name) in enumerate(names)}
    stacks = {side: [resized(pictures[point], side) for point, _ in names] for side in (46, 52, 58)}
    for subject in SUBJECTS:
        for background, colour in BACKGROUNDS.items():
            folder = out / "base" / ("3_white" if background == "white" else "1_colours")
            save(folder, subject, background, on_background(stacks[52][row_of[subject]], colour))
    for background, colour in BACKGROUNDS.items():
        save(out / "zibo", "zibo", background, draw_zibo(colour))
    tensors = {f"size_{side}": np.clip(np.stack(stack) * 255 + 0.5, 0, 255).astype(np.uint8) for side, stack in stacks.items()}
    tensors["subjects"] = np.array([row_of[s] for s in SUBJECTS], np.int64)
    save_file(tensors, out / "emoji.safetensors")
    print(f"{len(names)} emoji, {len(SUBJECTS)} subjects")


if __name__ == "__main__":
    main()
