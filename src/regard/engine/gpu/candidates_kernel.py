"""The best few of every part of a vocabulary, and its logarithmic sum, in one pass of a GPU over the scores.

A sort of the whole row, or the radix passes of `topk`, would read it many times over. Here a program holds
one part of one row, sums it, and takes out its largest `count` times; what is left to compare is a handful.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.engine.gpu.candidates import Allowed

MOST = 8
"""how many are taken out of a part one by one before sorting is faster"""
PART = 4096
WARPS = 8


@triton.jit  # type: ignore[untyped-decorator]
def _take_out(  # type: ignore[no-untyped-def]
    logits, positions, values, tokens, log_sums, vocab_size, logits_row,
    NEVER_A: tl.constexpr, NEVER_B: tl.constexpr, END: tl.constexpr, MIN_LENGTH: tl.constexpr,
    COUNT: tl.constexpr, PART: tl.constexpr,
):  # fmt: skip
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    num_parts = tl.num_programs(1)
    inside = tl.arange(0, PART)
    at = part * PART + inside
    scores = tl.load(logits + row * logits_row + at, mask=at < vocab_size, other=-float("inf"))
    highest = tl.maximum(tl.max(scores, 0), -1e30)
    total = tl.sum(tl.exp(scores - highest), 0)
    tl.store(log_sums + row * num_parts + part, highest + tl.log(total))
    scores = tl.where((at == NEVER_A) | (at == NEVER_B), -float("inf"), scores)
    if MIN_LENGTH > 0:
        too_short = tl.load(positions + row) < MIN_LENGTH
        scores = tl.where((at == END) & too_short, -float("inf"), scores)
    out = (row * num_parts + part) * COUNT
    for rank in tl.static_range(COUNT):
        best = tl.max(scores, 0)
        place = tl.argmax(scores, 0)
        tl.store(values + out + rank, best)
        tl.store(tokens + out + rank, tl.minimum(part * PART + place, vocab_size - 1).to(tl.int64))
        scores = tl.where(inside == place, -float("inf"), scores)


def chunked_top(
    logits: Tensor,
    positions: Tensor,
    allowed: Allowed,
    count: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Scores and tokens [rows, parts * count], and [rows, parts] the logarithm of each part's sum."""
    assert logits.stride(1) == 1 and len(allowed.never) <= 2
    num_rows, vocab_size = logits.shape
    num_parts = triton.cdiv(vocab_size, PART)
    values = logits.new_empty(num_rows, num_parts * count)
    tokens = torch.empty(values.shape, dtype=torch.int64, device=logits.device)
    log_sums = logits.new_empty(num_rows, num_parts)
    first, second = (*allowed.never, -1, -1)[:2]
    _take_out[(num_rows, num_parts)](
        logits, positions, values, tokens, log_sums, vocab_size, logits.stride(0),
        NEVER_A=first, NEVER_B=second, END=allowed.eos_id, MIN_LENGTH=allowed.min_length,
        COUNT=count, PART=PART, num_warps=WARPS,
    )  # fmt: skip
    return values, tokens, log_sums
