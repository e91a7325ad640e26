"""data/buckets, captions and steps: sd-scripts' own classes on drawn sizes, captions and data sets."""
import math
import pathlib
import random
import tempfile
from types import SimpleNamespace
from unittest import mock

from PIL import Image

from reference import write_json

SIZES = [(512, 512), (1024, 1024), (768, 512), (1920, 1080), (640, 480), (256, 256), (4000, 1000), (1000, 4000), (513, 511),
         (832, 1216), (100, 100), (64, 64), (63, 65), (31, 500), (3, 2000), (2000, 3), (1, 1), (8192, 64)]
TAGS = ['1girl', 'red hair', 'blue eyes', 'a photo of sks', 'Café', '東京', 'с', 'a  b', 'x:1.2', '(y)', '', ' z ', '{a|b|c}', '{{lit}}',
        '{x|y} {p|q|r}', '❤️', 'tag_1', 'a.b', ';;;', '|||']


def bucket_settings(rng, count):
    fixed = [(512, 512, 256, 1024, 64, False), (512, 512, 256, 1024, 64, True), (768, 512, 320, 1024, 64, False),
             (1024, 1024, 256, 2048, 32, True)]
    for number in range(count):
        if number < len(fixed):
            yield fixed[number]
            continue
        step = rng.choice([8, 16, 32, 64, 128])
        width, height = (step * rng.randint(3, max(4, 1280 // step)) for _ in range(2))
        no_upscale = rng.random() < 0.5
        least = step * rng.randint(1, 4)
        yield width, height, least, max(width, height, least) + step * rng.randint(0, 12), step, no_upscale


def bucket_row(manager, train_util, size):
    try:
        bucket, resized, error = manager.select_bucket(*size)
        crop = train_util.BucketManager.get_crop_ltrb(bucket, size)
    except (ZeroDivisionError, AssertionError) as failure:
        return [*size, f'{type(failure).__name__}: {failure}']
    offset = [max(0, (resized[i] - bucket[i]) // 2) for i in range(2)]
    return [*size, list(bucket), list(resized), round(float(error), 8), [float(value) for value in crop], offset]


def buckets(rng, count, settings_count):
    from library import train_util
    sizes = SIZES + [(rng.randint(40, 4096), rng.randint(40, 4096)) for _ in range(count)]
    sizes += [(int(1.3 ** rng.uniform(14, 32)), int(1.3 ** rng.uniform(14, 32))) for _ in range(count // 2)]
    result = []
    for width, height, least, most, step, no_upscale in bucket_settings(rng, settings_count):
        manager = train_util.BucketManager(no_upscale, (width, height), least, most, step)
        if not no_upscale:
            manager.make_buckets()
        rows = [bucket_row(manager, train_util, size) for size in sizes]
        result.append({
            'settings': {'max_reso': [width, height], 'min_bucket_reso': least, 'max_bucket_reso': most, 'bucket_reso_steps': step,
                         'bucket_no_upscale': no_upscale},
            'predefined': [] if no_upscale else [list(size) for size in manager.predefined_resos],
            'columns': ['width', 'height', 'bucket', 'resized', 'ar_error', 'crop_ltrb_for_size_conditioning', 'centre_crop_left_top'],
            'rows': rows, 'bucket_order': [list(size) for size in manager.resos]})
    return result


def draw_caption(rng):
    """(caption, subset settings, surroundings)"""
    separator = rng.choice([',', ',', ',', '.', ';'])
    caption = (separator + rng.choice([' ', ' ', ''])).join(rng.choice(TAGS) for _ in range(rng.randint(0, 8)))
    subset, env = {}, {}
    if separator != ',':
        subset['caption_separator'] = separator
    if rng.random() < 0.2:
        subset['caption_prefix'] = rng.choice(['masterpiece,', 'x', '{m|n}'])
    if rng.random() < 0.2:
        subset['caption_suffix'] = rng.choice([', best quality', 'y'])
    if rng.random() < 0.4:
        subset['enable_wildcard'], env['choice'] = True, rng.randint(0, 5)
    if rng.random() < 0.3:
        caption += '\n' + rng.choice(['second', 'line {u|v}, w', '', 'last\n'])
    if rng.random() < 0.4:
        # The reference's random number is 0.5 here, so a rate drops all or nothing.
        subset['caption_tag_dropout_rate'] = rng.choice([0.3, 0.7, 1.0])
    if rng.random() < 0.1:
        subset['caption_dropout_rate'] = rng.choice([0.2, 0.9])
    if rng.random() < 0.1:
        subset['caption_dropout_every_n_epochs'], env['current_epoch'] = rng.randint(1, 3), rng.randint(1, 6)
    if rng.random() < 0.4:
        subset['keep_tokens'] = rng.randint(0, 4)
    if rng.random() < 0.3:
        subset['keep_tokens_separator'] = '|||'
    if rng.random() < 0.2:
        subset['secondary_separator'] = ';;;'
    if rng.random() < 0.3:
        subset['token_warmup_min'], subset['token_warmup_step'] = rng.randint(1, 3), rng.choice([0, 7, 10, 0.5])
        env['current_step'], env['max_train_steps'] = rng.randint(0, 12), rng.choice([20, 101])
    if rng.random() < 0.2:
        env['replacements'] = rng.choice([{'sks': 'tok1 tok2'}, {'1girl': 'a', 'a': 'b'}, {'': 'all'}, {'red': ['r1', 'r2']},
                                          {'': ['one', 'two', 'three']}])
    return caption, subset, env


SUBSET_DEFAULTS = {'caption_prefix': None, 'caption_suffix': None, 'caption_dropout_rate': 0.0, 'caption_dropout_every_n_epochs': 0,
                   'caption_tag_dropout_rate': 0.0, 'enable_wildcard': False, 'shuffle_caption': False, 'keep_tokens': 0,
                   'keep_tokens_separator': '', 'caption_separator': ',', 'secondary_separator': None, 'token_warmup_min': 1,
                   'token_warmup_step': 0}


def captions(rng, count):
    from library import train_util
    result = []
    while len(result) < count:
        caption, subset, env = draw_caption(rng)
        surroundings = SimpleNamespace(current_epoch=env.get('current_epoch', 1), current_step=env.get('current_step', 0),
                                       max_train_steps=env.get('max_train_steps', 0), replacements=env.get('replacements', {}))
        index = env.get('choice', 0)
        fixed = SimpleNamespace(random=lambda: 0.5, shuffle=lambda tokens: None, choice=lambda items: items[index % len(items)])
        if isinstance(env.get('replacements', {}).get('red'), list):
            continue  # the reference takes a list for the empty word only
        with mock.patch.object(train_util, 'random', fixed):
            text = train_util.BaseDataset.process_caption(surroundings, SimpleNamespace(**{**SUBSET_DEFAULTS, **subset}), caption)
        result.append({'caption': caption, 'subset': subset, 'env': env, 'result': text})
    return result


def draw_subset(rng, is_reg):
    sides = [512, 600, 640, 768, 1000, 1024, 300, 2048]
    images = [[rng.choice(sides), rng.choice(sides)] for _ in range(rng.randint(1, 9))]
    return {'images': images, 'num_repeats': rng.choice([1, 2, 5, 10]), 'is_reg': is_reg}


def dataset_of(train_util, one, root):
    subsets = []
    for number, subset in enumerate(one['subsets']):
        folder = root / f'{number}'
        folder.mkdir()
        for index, size in enumerate(subset['images']):
            Image.new('1', tuple(size)).save(folder / f'{index:03d}.png')
        subsets.append(train_util.DreamBoothSubset(
            image_dir=str(folder), is_reg=subset['is_reg'], class_tokens='x', caption_extension='.txt', cache_info=False, alpha_mask=False,
            num_repeats=subset['num_repeats'], shuffle_caption=False, color_aug=False, flip_aug=False, face_crop_aug_range=None,
            random_crop=False, **{key: value for key, value in SUBSET_DEFAULTS.items() if key != 'shuffle_caption'}))
    dataset = train_util.DreamBoothDataset(
        subsets, True, one['batch_size'], tuple(one['resolution']), 1.0, True, 256, 1024, 64, one.get('bucket_no_upscale', False), 1.0,
        False, 0.0, None, None)
    dataset.make_buckets()
    return dataset


def steps(rng, count):
    from library import train_util
    result = []
    for _ in range(count):
        one = {'batch_size': rng.choice([1, 2, 3, 4, 6]), 'gradient_accumulation_steps': rng.choice([1, 2, 4]),
               'max_train_epochs': rng.choice([1, 2, 5, 10]), 'resolution': rng.choice([[512, 512], [768, 512], [640, 640]]),
               'subsets': [draw_subset(rng, False) for _ in range(rng.randint(1, 3))]}
        one['subsets'] += [draw_subset(rng, True) for _ in range(rng.choice([0, 1, 1, 2]))]
        if rng.random() < 0.3:
            one['bucket_no_upscale'] = True
        with tempfile.TemporaryDirectory() as root, mock.patch.object(train_util, 'tqdm', lambda items, **_: items):
            dataset = dataset_of(train_util, one, pathlib.Path(root))
        infos = list(dataset.image_data.values())
        regs = {}
        for info in infos:
            if info.is_reg:
                name = pathlib.Path(info.absolute_path).name
                regs[name] = regs.get(name, 0) + info.num_repeats
        manager = dataset.bucket_manager
        batches = len(dataset)
        per_epoch = math.ceil(batches / one['gradient_accumulation_steps'])
        one.update(reg_repeats=regs, images_with_repeats=sum(info.num_repeats for info in infos),
                   buckets=sorted([list(size), len(manager.buckets[manager.reso_to_id[size]])] for size in manager.resos),
                   batches_per_epoch=batches, steps_per_epoch=per_epoch, max_train_steps=one['max_train_epochs'] * per_epoch,
                   epochs_for_1000_steps=math.ceil(1000 / per_epoch))
        result.append(one)
    return result


def write(folder, counts, seed):
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    write_json(folder / 'buckets.json', buckets(rng, counts['bucket_sizes'], counts['bucket_settings']), None)
    write_json(folder / 'captions.json', captions(rng, counts['captions']))
    write_json(folder / 'steps.json', steps(rng, counts['steps']), None)
