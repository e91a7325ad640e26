#!/usr/bin/env python3
"""Runs the reference implementations and writes their numbers as a folder that `cinnabar-parity` reads.

  SD_SCRIPTS=CHECKOUT python3 make_goldens.py OUT [--seed N] [--shapes default|small|drawn|FILE.json] [--only GROUP,...]

Groups: tokenizer, models, schedule, data, training, adapters, optim. `--shapes drawn` draws widths, depths, sizes, ranks and options
from the seed; a JSON file holds changes of the default set (shapes.py). Needs in the Python used: torch, transformers, diffusers,
accelerate, safetensors, scipy, opencv-python-headless, pillow, ftfy, imagesize, einops, toml, voluptuous; for optim
lion-pytorch, prodigyopt, dadaptation, schedulefree, came-pytorch, bitsandbytes."""
import argparse
import json
import pathlib

import reference
import shapes

GROUPS = ('tokenizer', 'models', 'schedule', 'data', 'adapters', 'training', 'optim')


def shapes_of(choice, seed):
    if choice == 'drawn':
        return shapes.drawn(seed)
    if choice.endswith('.json'):
        return shapes.merged(shapes.DEFAULT, json.loads(pathlib.Path(choice).read_text()))
    return shapes.named(choice)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('out', type=pathlib.Path)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--shapes', default='default')
    parser.add_argument('--only', default=','.join(GROUPS))
    options = parser.parse_args()
    chosen = options.only.split(',')
    for name in chosen:
        if name not in GROUPS:
            parser.error(f'no group {name}; expected some of ' + ', '.join(GROUPS))
    shape = shapes_of(options.shapes, options.seed)
    reference.prepare()
    import adapters
    import data
    import models
    import optim
    import pictures
    import samplers
    import schedule
    import sd15_reference
    import sd2_reference
    import sdxl_reference
    import tokenizer
    import training

    options.out.mkdir(parents=True, exist_ok=True)
    seed = options.seed * 1000
    sd15_reference.check_names()
    # The first one's seeds stay what they were when it was alone.
    families = [sd15_reference.Sd15(shape['sd15'], seed), sd2_reference.Sd2(shape['sd2'], seed + 10),
                sdxl_reference.Sdxl(shape['sdxl'], seed + 20)]
    if 'tokenizer' in chosen:
        tokenizer.write(options.out / 'tokenizer', shape['tokenizer'], seed + 1)
    if 'models' in chosen:
        for number, model in enumerate(families):
            models.write(options.out / 'models', model, seed + 2 + 10 * number)
    if 'schedule' in chosen:
        schedule.write(options.out / 'schedule', shape['schedule'], seed + 3)
        samplers.write(options.out / 'schedule', shape['schedule'], seed + 4)
    if 'data' in chosen:
        data.write(options.out / 'data', shape['data'], seed + 5)
        pictures.write(options.out / 'data', shape['data']['picture_side'], seed + 6)
    if 'adapters' in chosen:
        for number, model in enumerate(families):
            adapters.write(options.out / 'adapters', shape['adapters'], model, seed + 7 + 10 * number)
        adapters.write_hashes(options.out / 'adapters')
    if 'training' in chosen:
        for model in families:
            training.write(options.out / 'training', shape['training'], model, seed + 100)
    if 'optim' in chosen:
        optim.write(options.out / 'optim', shape['optim'], seed + 8)
    made = {'seed': options.seed, 'shapes': options.shapes, 'groups': chosen, 'versions': reference.versions(), 'settings': shape}
    reference.write_json(options.out / 'made_by.json', made)


if __name__ == '__main__':
    main()
