"""The reference implementations, ready to be imported offline and without torchvision.

Environment: SD_SCRIPTS is a checkout of sd-scripts (goldens were made with commit 48d368fa); CLIP_BPE is the public list of
byte pairs (default: the one that the repository's set-up fetched)."""
import gzip
import importlib.machinery
import json
import os
import pathlib
import sys
import tempfile
import types

import numpy as np
import torch
from safetensors.torch import save_file

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SD_SCRIPTS_COMMIT = '48d368fa'


def prepare():
    """Makes `import library...` and `import networks...` work. Call once, before any of them."""
    root = os.environ.get('SD_SCRIPTS')
    if not root or not os.path.isfile(os.path.join(root, 'train_network.py')):
        raise SystemExit('SD_SCRIPTS must name a checkout of sd-scripts (no train_network.py in ' + repr(root) + ')')
    os.environ.setdefault('HF_HUB_OFFLINE', '1')
    os.environ.setdefault('TOKENIZERS_PARALLELISM', 'false')
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if importlib.util.find_spec('torchvision') is None:
        import transformers.utils.import_utils as availability
        availability._torchvision_available = False
        import diffusers  # noqa: F401  (must look for torchvision before the stand-in is there)
        _stand_in_for_torchvision()
    sys.path.insert(0, root)
    import logging
    logging.disable(logging.WARNING)


def _stand_in_for_torchvision():
    """sd-scripts takes Compose, ToTensor and Normalize from torchvision; other names are imported, but not used here."""
    module = types.ModuleType('torchvision')
    transforms = types.ModuleType('torchvision.transforms')
    for one in (module, transforms):
        one.__spec__ = importlib.machinery.ModuleSpec(one.__name__, None)

    def compose(steps):
        def run(value):
            for step in steps:
                value = step(value)
            return value
        return run

    def to_tensor():
        return lambda pixels: torch.from_numpy(np.asarray(pixels).astype(np.float32) / 255.0).permute(2, 0, 1)

    def normalize(mean, std):
        return lambda x: (x - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]

    transforms.Compose, transforms.ToTensor, transforms.Normalize = compose, to_tensor, normalize
    transforms.Resize = transforms.InterpolationMode = None
    module.transforms, module.__version__ = transforms, '0.0.0'
    sys.modules['torchvision'], sys.modules['torchvision.transforms'] = module, transforms


def clip_tokenizer(pad_token):
    """transformers' slow CLIPTokenizer with the vocabulary that follows from the list of byte pairs."""
    from transformers import CLIPTokenizer
    from transformers.models.clip.tokenization_clip import bytes_to_unicode
    path = os.environ.get('CLIP_BPE', str(REPOSITORY / '.deps/clip/bpe_simple_vocab_16e6.txt.gz'))
    lines = gzip.open(path, 'rt', encoding='utf-8').read().split('\n')
    merges = lines[1:49152 - 256 - 2 + 1]
    characters = list(bytes_to_unicode().values())
    words = characters + [c + '</w>' for c in characters] + [m.replace(' ', '') for m in merges]
    words += ['<|startoftext|>', '<|endoftext|>']
    folder = pathlib.Path(tempfile.mkdtemp(prefix='clip-'))
    (folder / 'vocab.json').write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / 'merges.txt').write_text('#version: 0.2\n' + '\n'.join(merges), encoding='utf-8')
    return CLIPTokenizer(str(folder / 'vocab.json'), str(folder / 'merges.txt'), pad_token=pad_token, model_max_length=77)


def versions():
    import importlib.metadata as metadata
    names = ('torch transformers diffusers peft safetensors numpy opencv-python-headless pillow ftfy tokenizers').split()
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    found['sd-scripts'] = 'commit ' + SD_SCRIPTS_COMMIT
    return found


def write_tensors(path, tensors, metadata=None):
    save_file({name: value.detach().clone().contiguous() for name, value in tensors.items()}, str(path), metadata)


def write_json(path, value, indent=1):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent) + '\n', encoding='utf-8')
