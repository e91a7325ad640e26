#!/usr/bin/env python3
"""Writes the bad-file corpus and the seeds of the fuzz targets: make_corpus.py FOLDER.

FOLDER/corpus/KIND/NAME: files with one defect each, and good ones. FOLDER/corpus/KIND.tsv: NAME, a tab, a part of the message
that the file must give; "-" for a good one. FOLDER/seeds/TARGET/NAME: what a fuzz target starts from. The same bytes each time."""

import pathlib
import shutil
import sys

import model_files
import picture_files
import text_files
from builders import pickle, dictionary, rebuilt, storage

# Larger ones cost a fuzzer time and show it nothing.
MOST_SEED_BYTES = 4096


def raw(content):
    return content.encode() if isinstance(content, str) else content


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(raw(content))


def corpus():
    """KIND: (bad files with their messages, good files), the names with the extension of the kind."""
    def named(pair, extension):
        bad, good = pair
        return {name + extension: case for name, case in bad.items()}, {name + extension: content for name, content in good.items()}

    return {
        "safetensors": named(model_files.safetensors_files(), ".safetensors"),
        "ckpt": named(model_files.torch_files(), ".ckpt"),
        "npz": named(model_files.npz_files(), ".npz"),
        "config": text_files.config_files(),
        "dataset": text_files.dataset_files(),
        "prompts": text_files.prompt_files(),
        "caption": text_files.caption_files(),
        "record": text_files.record_files()[:2],
        "vocabulary": text_files.vocabulary_files(),
        "picture": picture_files.picture_files()[:2],
    }


def all_of(kind):
    bad, good = kind
    return {name: raw(content) for name, content in {**{name: case[0] for name, case in bad.items()}, **good}.items()}


def seeds(kinds):
    files = {name: all_of(kind) for name, kind in kinds.items()}
    bodies = {name: code for name, (code, _) in model_files.pickle_bodies().items()}
    bodies["fine"] = pickle(dictionary(("a", rebuilt(storage())), ("b", rebuilt(storage("HalfStorage", "1", 4)))))
    zipped_bad, zipped_good = model_files.zip_files()
    forms = {".toml": b"t", ".json": b"j"}
    texts = files["caption"]
    options = [bytes([i * 37 % 256, i * 11 % 64]) for i in range(2)]
    return {
        "safetensors": files["safetensors"],
        "torch_file": files["ckpt"],
        "zip": all_of((zipped_bad, zipped_good)) | {"npz_" + name: content for name, content in files["npz"].items()},
        "pickle": bodies,
        "npz": files["npz"],
        "config": files["config"],
        "dataset": files["dataset"],
        "prompts": {name: forms.get(pathlib.Path(name).suffix, b"l") + content for name, content in files["prompts"].items()},
        "caption": {f"{i}_{name}": option + content for name, content in texts.items() for i, option in enumerate(options)},
        "record": files["record"] | {name: raw(content) for name, content in text_files.record_files()[2].items()},
        "vocabulary": {f"{i}_{name}": content + word for name, content in files["vocabulary"].items() for i, word in enumerate((b"", b"\nabcde", b"\nabab"))},
        "clip_text": text_files.clip_texts(),
        "picture": files["picture"] | picture_files.picture_files()[2],
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    for part in ("corpus", "seeds"):
        shutil.rmtree(folder / part, ignore_errors=True)
    kinds = corpus()
    for kind, (bad, good) in kinds.items():
        write(folder / "corpus" / kind, all_of((bad, good)))
        rows = [f"{name}\t{case[1]}" for name, case in bad.items()] + [f"{name}\t-" for name in good]
        (folder / "corpus" / f"{kind}.tsv").write_text("\n".join(rows) + "\n")
    for target, files in seeds(kinds).items():
        write(folder / "seeds" / target, {name: content for name, content in files.items() if len(content) <= MOST_SEED_BYTES})


if __name__ == "__main__":
    main()
