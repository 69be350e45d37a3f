"""Triton kernels of the recorded search: the best tokens of each row, and one step of all slots.

`chunked_top` reads a row of scores once; a sort or the radix passes of `topk` would read it many times. A
program holds one part of one row, sums it, and takes out its largest `count` times.

`advance` does in one kernel what `Slots.advance` does in a hundred small operations. A program does the work of
one slot. Slots meet only where they take the next sentence of the queue; which of two slots that end together
gets which sentence makes no difference.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.engine.gpu.slots import Slots

MAX_CANDIDATES = 8  # Candidates taken out of a part one by one; for more, sorting is faster.
PART = 4096  # Tokens of the vocabulary in a part.
WARPS = 8
PLACES = 128  # Entries of the table of owners that a program moves at a time.


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


def chunked_top(logits: Tensor, slots: Slots) -> tuple[Tensor, Tensor, Tensor]:
    """Scores and tokens [rows, parts * beam], and [rows, parts] the logarithm of each part's sum."""
    assert logits.stride(1) == 1 and len(slots.never) <= 2
    (num_rows, vocab_size), count = logits.shape, slots.shape.beam
    num_parts = triton.cdiv(vocab_size, PART)
    values = logits.new_empty(num_rows, num_parts * count)
    tokens = torch.empty(values.shape, dtype=torch.int64, device=logits.device)
    log_sums = logits.new_empty(num_rows, num_parts)
    first, second = (*slots.never, -1, -1)[:2]
    _take_out[(num_rows, num_parts)](
        logits, slots.positions, values, tokens, log_sums, vocab_size, logits.stride(0),
        NEVER_A=first, NEVER_B=second, END=slots.eos_id, MIN_LENGTH=slots.shape.min_length,
        COUNT=count, PART=PART, num_warps=WARPS,
    )  # fmt: skip
    return values, tokens, log_sums


@triton.jit  # type: ignore[untyped-decorator]
def _advance(  # type: ignore[no-untyped-def]
    values, candidates, log_sums,
    limits, num_waiting, next_sentence, num_done, penalties,
    sentences, positions, tokens, totals, num_ended, ended_scores, owners,
    choices, gains, endings, end_gains,
    nobody, max_len, bos_id, eos_id,
    BEAM: tl.constexpr, N_BEST: tl.constexpr, COUNT: tl.constexpr, PARTS: tl.constexpr,
    BEAM_ROOM: tl.constexpr, COUNT_ROOM: tl.constexpr, PARTS_ROOM: tl.constexpr,
    PLACES: tl.constexpr,
):  # fmt: skip
    slot = tl.program_id(0).to(tl.int64)
    none = -float("inf")
    ranks = tl.arange(0, BEAM_ROOM)
    is_rank = ranks < BEAM
    sentence = tl.load(sentences + slot)
    position = tl.load(positions + slot * BEAM)
    limit = tl.load(limits + sentence)
    ended_before = tl.load(num_ended + slot)
    old_totals = tl.load(totals + slot * BEAM + ranks, mask=is_rank, other=none)
    scores = tl.load(ended_scores + slot * (BEAM + 1) + ranks, mask=is_rank, other=none)

    # The candidates' own log-probabilities, and with those of what they continue.
    all_candidates = tl.arange(0, COUNT_ROOM)
    rows = all_candidates // COUNT
    there = all_candidates < BEAM * COUNT
    parts = tl.arange(0, PARTS_ROOM)
    log_sum = tl.zeros([COUNT_ROOM], tl.float32)
    for row in tl.static_range(BEAM):
        sums = tl.load(log_sums + (slot * BEAM + row) * PARTS + parts, mask=parts < PARTS, other=none)
        highest = tl.maximum(tl.max(sums, 0), -1e30)
        whole = highest + tl.log(tl.sum(tl.exp(sums - highest), 0))
        log_sum = tl.where(rows == row, whole, log_sum)
    first_candidate = slot * BEAM * COUNT
    gain = tl.load(values + first_candidate + all_candidates, mask=there, other=none) - log_sum
    gain = tl.where(gain == gain, gain, none)
    total = tl.load(totals + slot * BEAM + rows, mask=there, other=none) + gain.to(tl.float64)

    hope = tl.min(old_totals, 0) + none
    stuck = position >= limit
    ended_now = ended_before * 0
    ended_rows = tl.zeros([BEAM_ROOM], tl.int32)
    parents = tl.zeros([BEAM_ROOM], tl.int64)
    new_tokens = tl.zeros([BEAM_ROOM], tl.int64)
    new_totals = old_totals + none
    this_penalty = tl.load(penalties + position + 1)
    for rank in tl.static_range(BEAM):
        best = tl.max(total, 0)
        place = tl.argmax(total, 0)
        chosen = all_candidates == place
        chosen_gain = tl.max(tl.where(chosen, gain, none), 0)
        total = tl.where(chosen, none, total)
        token = tl.load(candidates + first_candidate + place)
        parent = (place // COUNT).to(tl.int64)
        possible = (best > none) & (rank < BEAM - ended_before)
        ends = possible & (token == eos_id)
        goes_on = possible & (token != eos_id)
        if rank == 0:
            stuck = stuck | (best == none)
        at = (sentence * BEAM + rank) * max_len + position
        tl.store(choices + at, (token * BEAM + parent).to(tl.int32))
        tl.store(gains + at, chosen_gain)
        ending = sentence * (BEAM + 1) + ended_before + ended_now
        tl.store(endings + ending, (position * BEAM + parent) * 2, mask=ends)
        tl.store(end_gains + ending, chosen_gain, mask=ends)
        scores = tl.where((ranks == ended_before + ended_now) & ends, best / this_penalty, scores)
        ended_rows = tl.where((ranks == parent) & ends, 1, ended_rows)
        ended_now += ends.to(tl.int64)
        hope = tl.maximum(hope, tl.where(goes_on, best, none))
        parents = tl.where(ranks == rank, parent, parents)
        new_tokens = tl.where(ranks == rank, token, new_tokens)
        new_totals = tl.where((ranks == rank) & goes_on, best, new_totals)

    cut = stuck & (old_totals > none) & (ended_rows == 0) & is_rank
    behind = ended_before + ended_now + tl.cumsum(cut.to(tl.int64), 0) - 1
    ending = sentence * (BEAM + 1) + behind
    tl.store(endings + ending, (position * BEAM + ranks) * 2 + 1, mask=cut)
    tl.store(end_gains + ending, tl.zeros([BEAM_ROOM], tl.float32), mask=cut)

    kept = scores
    for _ in tl.static_range(N_BEST - 1):
        kept = tl.where(ranks == tl.argmax(kept, 0), none, kept)
    largest = tl.maximum(tl.load(penalties + position + 2), tl.load(penalties + limit + 1))
    done = stuck | (hope / largest <= tl.max(kept, 0))

    if BEAM > 1:
        for start in range(0, position + 1, PLACES):
            places = start + tl.arange(0, PLACES)
            inside = is_rank[:, None] & (places <= position)[None, :]
            beneath = (slot * BEAM + parents)[:, None]
            past = tl.load(owners + beneath * max_len + places[None, :], mask=inside, other=0)
            past = tl.where(places[None, :] == position, beneath.to(tl.int32), past)
            tl.debug_barrier()
            tl.store(owners + (slot * BEAM + ranks)[:, None] * max_len + places[None, :], past, mask=inside)

    finished = done & (sentence < nobody)
    fresh = tl.atomic_add(next_sentence, 1, mask=finished)
    tl.atomic_add(num_done, 1, mask=finished)
    fresh = tl.where(fresh < tl.load(num_waiting), fresh, nobody)
    tl.debug_barrier()
    tl.store(sentences + slot, tl.where(finished, fresh, sentence))
    tl.store(num_ended + slot, tl.where(done, 0, ended_before + ended_now))
    following = tl.where(done, 0, position + 1) + ranks * 0
    tl.store(positions + slot * BEAM + ranks, following, mask=is_rank)
    tl.store(tokens + slot * BEAM + ranks, tl.where(done, bos_id, new_tokens), mask=is_rank)
    start_totals = tl.where(ranks == 0, 0.0, none)
    tl.store(totals + slot * BEAM + ranks, tl.where(done, start_totals, new_totals), mask=is_rank)
    tl.store(ended_scores + slot * (BEAM + 1) + ranks, tl.where(done, none, scores), mask=is_rank)


def advance(slots: Slots, values: Tensor, tokens: Tensor, log_sums: Tensor) -> None:
    """The same as `slots.advance` for the raw scores of `chunked_top`, whose sums are still in parts."""
    shape = slots.shape
    count, num_parts = values.shape[1], log_sums.shape[1]
    _advance[(shape.num_slots,)](
        values, tokens, log_sums,
        slots.limits, slots.num_waiting, slots.next, slots.num_done, slots.penalties,
        slots.sentence, slots.positions, slots.tokens, slots.totals,
        slots.num_ended, slots.ended_scores,
        slots.rows if slots.owners is None else slots.owners,
        slots.choices, slots.gains, slots.endings, slots.end_gains,
        shape.num_sentences, shape.max_len, slots.bos_id, slots.eos_id,
        BEAM=shape.beam, N_BEST=shape.n_best, COUNT=count, PARTS=num_parts,
        BEAM_ROOM=triton.next_power_of_2(shape.beam),
        COUNT_ROOM=triton.next_power_of_2(shape.beam * count),
        PARTS_ROOM=triton.next_power_of_2(num_parts),
        PLACES=PLACES, num_warps=1,
    )  # fmt: skip
