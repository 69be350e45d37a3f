"""The most probable next tokens of each row, out of a vocabulary of scores, without leaving the device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Allowed:
    """What may come next."""

    never: tuple[int, ...]
    """tokens that no output holds"""
    eos_id: int
    min_length: int
    """tokens before the end may come"""


def candidates(
    logits: Tensor, positions: Tensor, allowed: Allowed, count: int, repeats: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The log-probabilities and tokens [rows, count] of the best of each row.

    The log-probability is the model's own, of a distribution over all tokens; one that may not come has
    -inf. `repeats` [rows, vocab] is 0, or -inf for what would repeat something. `logits` may be written into.
    """
    log_sums = logits.logsumexp(dim=1, keepdim=True)
    for token in allowed.never:
        logits[:, token] = -torch.inf
    if allowed.min_length:
        ends = logits[:, allowed.eos_id]
        logits[:, allowed.eos_id] = ends.masked_fill(positions < allowed.min_length, -torch.inf)
    if repeats is not None:
        logits = logits + repeats
    values, tokens = logits.topk(min(count, logits.shape[1]), dim=1)
    # Where nothing at all was possible both are infinite, and their difference is no number.
    values = torch.nan_to_num(values - log_sums, nan=-torch.inf, neginf=-torch.inf)
    return values, tokens
