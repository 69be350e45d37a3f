"""The weights of several models of one shape, mixed.

Weights between a fine-tuned model and the one it started from are often better than either, and keep more of what the
first had learnt: Wortsman et al. 2022, Robust fine-tuning of zero-shot models (WiSE-FT).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from regard.errors import UsageError
from regard.folder.checkpoint import CARD, read_files, read_tensors, save
from regard.folder.manifest import read_manifest

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
"""what a hub reads of a card, scores among it"""


def mix(folder: Path, others: Sequence[tuple[Path, float]], output: Path) -> None:
    """Write the first model with a share of each other model's weights, in fp32 and without graphs."""
    own_share = 1 - sum(share for _, share in others)
    if own_share <= 0 or any(not share > 0 for _, share in others):
        raise UsageError(
            "the shares of weights to mix in must be above 0 and together below 1: got "
            f"{', '.join(str(share) for _, share in others)}; what is left is the first model's"
        )
    manifest = read_manifest(folder)
    files = read_files(folder, manifest)
    mixed = {name: own_share * tensor for name, tensor in read_tensors(folder, manifest).items()}
    for other, share in others:
        theirs = read_manifest(other)
        for what, one, another in (
            ("task", manifest.task, theirs.task),
            ("source_language", manifest.source_language, theirs.source_language),
            ("target_language", manifest.target_language, theirs.target_language),
            ("shape", manifest.model, theirs.model),
            ("tokenizer", files, read_files(other, theirs)),
        ):
            if one != another:
                raise UsageError(
                    f"models to mix must have one {what}: {other} has another than {folder}; "
                    "mix only models of which one went on from the other"
                )
        for name, tensor in read_tensors(other, theirs).items():
            mixed[name] += np.float32(share) * tensor
    path = folder / CARD
    card = _FRONT_MATTER.sub("", path.read_text(encoding="utf-8")) if path.is_file() else ""
    shares = ", ".join(
        f"{share:.3g} of {each.resolve().name}" for each, share in [(folder, own_share), *others]
    )
    note = f"> Weights mixed by regard: {shares}. What follows, scores too, is the card of the first of them.\n\n"
    save(output, replace(manifest, weights="fp32"), mixed, files, note + card.lstrip())
