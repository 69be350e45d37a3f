"""The weights of several models of one shape, so much of each.

A model and the one it went on from lie in one valley of the loss, and between the two something better than either is
often found, which keeps more of what the first had learnt. Wortsman et al. 2022, Robust fine-tuning of zero-shot models
(WiSE-FT).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from regard.errors import UsageError
from regard.folder.checkpoint import CARD, read_files, read_tensors, save
from regard.folder.manifest import Manifest, read_manifest

_ADVICE = "mix only models of which one went on from the other"
_FRONT_MATTER = re.compile(r"---\n.*?\n---\n", re.DOTALL)
"""what a hub reads of a card, scores among it"""


def mix(folder: Path, others: Sequence[tuple[Path, float]], output: Path) -> None:
    """Write the first model with a share of each other's weights in its own, as fp32 and without graphs."""
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
        their_manifest = read_manifest(other)
        _check_alike(folder, manifest, other, their_manifest)
        if read_files(other, their_manifest) != files:
            raise UsageError(
                f"models to mix must have one tokenizer: {other} has another than {folder}; {_ADVICE}"
            )
        for name, tensor in read_tensors(other, their_manifest).items():
            mixed[name] += np.float32(share) * tensor
    save(output, replace(manifest, weights="fp32"), mixed, files, _card(folder, own_share, others))


def _check_alike(folder: Path, ours: Manifest, other: Path, theirs: Manifest) -> None:
    for one, another, names in (
        (ours, theirs, ("task", "source_language", "target_language")),
        (ours.model, theirs.model, [field.name for field in fields(ours.model)]),
    ):
        for name in names:
            own, their = getattr(one, name), getattr(another, name)
            if own != their:
                raise UsageError(
                    f"models to mix must be alike: {folder} has {name}={own}, {other} has {their}; {_ADVICE}"
                )


def _card(folder: Path, own_share: float, others: Sequence[tuple[Path, float]]) -> str:
    """The first model's, which says before all else that it is a mix: its scores are not those of one."""
    path = folder / CARD
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    shares = [(folder, own_share), *others]
    mixed = ", ".join(f"{share:.3g} of {each.resolve().name}" for each, share in shares)
    note = f"> Weights mixed by regard: {mixed}. What follows, scores too, is the card of the first of them.\n\n"
    front = _FRONT_MATTER.match(text)
    return note + text[front.end() if front else 0 :].lstrip()
