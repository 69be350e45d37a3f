"""Checkpoints and models that are damaged, and what is made of them. Used by survive.py."""

from __future__ import annotations

import random
import resource
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import torch
from record import Row
from survive_kill import SETTINGS, in_child
from train_fixtures import SHAPE, counting_corpus, run

from regard.errors import ModelError, RegardWarning
from regard.folder import checkpoint
from regard.folder.manifest import Manifest, read_manifest
from regard.train import checkpoints
from regard.train.checkpoints import SUMS


def damage(content: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A kind of damage, and the bytes after it."""
    changed = bytearray(content)
    kind = rng.choice(["a bit", "bytes", "cut off", "inserted", "zeros", "empty"])
    place = rng.randrange(len(changed))
    if kind == "a bit":
        changed[place] ^= 1 << rng.randrange(8)
    elif kind == "bytes":
        for _ in range(rng.choice([1, 4, 64])):
            place = rng.randrange(len(changed))
            changed[place] ^= rng.randrange(1, 256)
    elif kind == "cut off":
        del changed[place:]
    elif kind == "inserted":
        changed[place:place] = rng.randbytes(rng.choice([1, 7, 300]))
    else:
        changed = bytearray(len(changed) if kind == "zeros" else 0)
    return kind, bytes(changed)


def damage_checkpoints(num_damages: int, folder: Path, rng: random.Random) -> Counter[str]:
    """How often a damaged checkpoint was named and passed over, by the kind of damage; else `missed`."""
    corpus = counting_corpus(folder)
    in_child(lambda: run(corpus, folder / "run", SETTINGS, stop_at=4))
    files = sorted((folder / "run" / "checkpoints" / "step-00000004").iterdir())
    found: Counter[str] = Counter()
    for _ in range(num_damages):
        file = rng.choice(files)
        content = file.read_bytes()
        kind, changed = damage(content, rng)
        file.write_bytes(changed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            latest = checkpoints.load_latest(folder / "run", torch.device("cpu"))
        # Where the sums are damaged it is a file that no longer has its own.
        name = file.parent.name if file.name == SUMS else f"{file.parent.name}/{file.name}"
        named = any(issubclass(w.category, RegardWarning) and name in str(w.message) for w in caught)
        passed_over = latest is not None and latest[1]["step"] == 2
        found[kind if named and passed_over or changed == content else "missed"] += 1
        file.write_bytes(content)
    return found


def damage_files(num_files: int, folder: Path, rng: random.Random) -> Row:
    """How damaged tokenizers and weights were taken: refused, or used. A crash ends this program.

    Every other one has no checksums beside it, and is refused only if it cannot be read. Memory is what any of them
    took beyond what the intact files did, in sizes of the larger file.
    """
    corpus, model = counting_corpus(folder), folder / "model"
    wide = {**SHAPE, "d_ff": 10_007}
    in_child(lambda: run(corpus, model, replace(SETTINGS, steps=2), model=wide))
    manifest, sums = read_manifest(model), (model / SUMS).read_bytes()
    found: Counter[str] = Counter()
    names = (manifest.tokenizer.source, "model.safetensors")
    contents = {name: (model / name).read_bytes() for name in names}
    for content in contents.values():  # what damaging takes is not what reading takes
        damage(content, rng)
    _use(model, manifest)
    before = most_memory()
    for name, content in contents.items():
        for number in range(num_files):
            (model / name).write_bytes(damage(content, rng)[1])
            if number % 2:
                (model / SUMS).write_bytes(sums)
            else:
                (model / SUMS).unlink(missing_ok=True)
            try:
                _use(model, manifest)
                found[f"{name} used {'in spite of' if number % 2 else 'without'} sums"] += 1
            except ModelError:
                found[f"{name} refused"] += 1
        (model / name).write_bytes(content)
    size = max(map(len, contents.values()))
    return {**found, "memory in sizes": round((most_memory() - before) / size, 2)}


def _use(model: Path, manifest: Manifest) -> None:
    checkpoint.read_tensors(model, manifest)
    tokenizer, _ = checkpoint.open_tokenizers(model, manifest.tokenizer)
    tokenizer.decode(tokenizer.encode("un deux trois ✓"))


def most_memory() -> int:
    """That this process has ever had, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
