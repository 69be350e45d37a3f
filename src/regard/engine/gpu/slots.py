"""Beam search as arithmetic on tensors that never move, so that a GPU can replay it without the host.

The rules are those of `regard.decode.beam`; a beam of one is greedy search. Slots work through a queue of
sentences: a slot holds the beam of one sentence, and takes the next sentence as soon as that is done. The
choices of each step are stored by sentence and traced back on the host at the end (`backtrace`).
"""

import numpy as np
import torch
from torch import Tensor

from regard.config import DecodeConfig, ModelConfig
from regard.decode.arrays import Host
from regard.decode.interface import Hypothesis, Stop, hypothesis, length_penalty
from regard.engine.gpu.recording import Recorded, Shape


class Slots:
    """The state of the search; all tensors are changed in place.

    The last sentence of every table is a dummy: a slot without work reads and writes there.
    """

    def __init__(self, shape: Shape, model: ModelConfig, device: torch.device) -> None:
        self.shape, self.bos_id, self.eos_id = shape, model.bos_id, model.eos_id
        self.never = sorted({model.bos_id, model.pad_id} - {model.eos_id})
        """Tokens that no output contains."""
        num_sentences, num_slots, beam, max_len = (shape.num_sentences + 1, shape.num_slots, shape.beam, shape.max_len)

        def integers(*sizes: int) -> Tensor:
            return torch.zeros(sizes, dtype=torch.int64, device=device)

        # the queue: its length and the limit of each sentence, written by the host in one copy
        self._queue = integers(1 + num_sentences)
        self.num_waiting, self.limits = self._queue[:1], self._queue[1:]
        self.next = integers(1)
        self.num_done = integers(1)
        # the slots
        self.sentence = integers(num_slots)
        self.positions = integers(num_slots, beam)
        self.tokens = integers(num_slots, beam)
        self.totals = torch.zeros((num_slots, beam), dtype=torch.float64, device=device)
        self.num_ended = integers(num_slots)
        self.ended_scores = self.totals.new_zeros(num_slots, beam + 1)
        self.rows = torch.arange(num_slots * beam, device=device).view(num_slots, beam)
        self.ranks = self.rows[:1]
        self.owners = None
        if beam > 1:
            self.owners = torch.zeros((num_slots, beam, max_len), dtype=torch.int32, device=device)
        # what was chosen, by sentence: token * beam + the row it continues
        self.choices = torch.zeros((num_sentences, beam, max_len), dtype=torch.int32, device=device)
        self.gains = torch.zeros(self.choices.shape, device=device)
        # how the outputs ended: (length * beam + row) * 2 + whether it was cut, or -1
        self.endings = integers(num_sentences, beam + 1)
        self.end_gains = torch.zeros(self.endings.shape, device=device)
        self.penalties = self.totals.new_ones(max_len + 2)
        self.first_totals = self.totals.new_full((1, beam), -torch.inf)
        self.first_totals[0, 0] = 0
        self.uniforms: Tensor | None = None  # what is drawn at each step of each sentence
        if shape.sampling is not None:
            self.uniforms = self.totals.new_zeros(num_sentences, max_len)
        self._alpha: float | None = None
        self._reset = Recorded(self._empty, device)

    def begin(self, limits: Tensor, alpha: float) -> None:
        """Queue sentences with these limits of length, and put the first ones into the slots."""
        count = len(limits)
        assert count <= self.shape.num_sentences and int(limits.max()) < self.shape.max_len
        queue = torch.zeros(self._queue.shape, dtype=torch.int64)
        queue[0], queue[1 : 1 + count] = count, limits
        self._queue.copy_(queue)
        if alpha != self._alpha:
            penalties = [length_penalty(length, alpha) for length in range(len(self.penalties))]
            self.penalties.copy_(torch.tensor(penalties, dtype=torch.float64))
            self._alpha = alpha
        self._reset()

    def _empty(self) -> None:
        """Clear all tables, and put the first sentences of the queue into the slots."""
        shape = self.shape
        self.next.copy_(self.num_waiting.clamp(max=shape.num_slots))
        self.num_done.zero_()
        slots = torch.arange(shape.num_slots, device=self.sentence.device)
        self.sentence.copy_(slots.masked_fill(slots >= self.num_waiting, shape.num_sentences))
        self.positions.zero_()
        self.tokens.fill_(self.bos_id)
        self.totals.copy_(self.first_totals.expand_as(self.totals))
        self.num_ended.zero_()
        self.ended_scores.fill_(-torch.inf)
        self.endings.fill_(-1)

    def advance(self, values: Tensor, tokens: Tensor) -> None:
        """One step of every slot: `values` are the log-probabilities of `tokens` [rows, candidates]."""
        beam = self.shape.beam
        position = self.positions[:, 0]
        values, tokens = (each.view(len(position), -1) for each in (values, tokens))
        count = values.shape[1] // beam
        totals = self.totals.repeat_interleave(count, dim=1) if beam > 1 else self.totals
        best, place = _top(totals + values, beam)
        token, gain, parent = tokens.gather(1, place), values.gather(1, place), place // count
        possible = (best > -torch.inf) & (self.ranks < (beam - self.num_ended)[:, None])
        ends = possible & (token == self.eos_id)
        goes_on = possible & ~ends
        limit = self.limits[self.sentence]
        stuck = (position >= limit) | ~possible[:, 0]
        at = ((self.sentence * beam)[:, None] + self.ranks) * self.shape.max_len + self.positions
        self.choices.view(-1).scatter_(0, at.view(-1), (token * beam + parent).view(-1).to(self.choices.dtype))
        self.gains.view(-1).scatter_(0, at.view(-1), gain.view(-1))
        self._finish(parent, ends, best, gain, stuck)
        new_totals = best.masked_fill(~goes_on, -torch.inf)
        hope = new_totals.amax(dim=1)
        # An upper bound of what is attainable: nothing becomes less probable, see `best_attainable`.
        largest = torch.maximum(self.penalties[position + 2], self.penalties[limit + 1])
        # the score of the n-th best ended hypothesis; -inf while there are fewer
        worst_kept = _top(self.ended_scores, self.shape.n_best)[0][:, -1]
        done = stuck | (hope / largest <= worst_kept)
        if self.owners is not None:
            own = self.rows[:, :, None].to(self.owners.dtype)
            self.owners.scatter_(2, self.positions[:, :, None], own)
            parents = parent[:, :, None].expand_as(self.owners)
            self.owners.copy_(self.owners.gather(1, parents))
        self.totals.copy_(new_totals)
        self.tokens.copy_(token)
        self.positions.add_(1)
        self.num_ended.add_(ends.sum(dim=1))
        self._refill(done)

    def _finish(self, parent: Tensor, ends: Tensor, best: Tensor, gain: Tensor, stuck: Tensor) -> None:
        """Store the outputs that end here, and those cut because their sentence is stuck."""
        beam = self.shape.beam
        ended_rows = ((parent[:, :, None] == self.ranks) & ends[:, :, None]).any(dim=1)
        cut = stuck[:, None] & (self.totals > -torch.inf) & ~ended_rows
        finished = torch.cat([ends, cut], dim=1)
        # After those of earlier steps; the last place is a dummy.
        place = self.num_ended[:, None] + finished.cumsum(dim=1) - 1
        place = place.masked_fill(~finished, beam)
        before = self.positions * beam
        ending = torch.cat([(before + parent) * 2, (before + self.ranks) * 2 + 1], dim=1)
        at = (self.sentence * (beam + 1))[:, None] + place
        self.endings.view(-1).scatter_(0, at.view(-1), ending.view(-1))
        end_gain = torch.cat([gain, torch.zeros_like(gain)], dim=1)
        self.end_gains.view(-1).scatter_(0, at.view(-1), end_gain.view(-1))
        scores = best / self.penalties[self.positions[:, :1] + 1]
        self.ended_scores.scatter_(1, place[:, :beam], scores.masked_fill(~ends, -torch.inf))

    def _refill(self, done: Tensor) -> None:
        """Slots that are done take the next sentences of the queue, in order, or the dummy."""
        nobody = self.shape.num_sentences
        finished = done & (self.sentence < nobody)
        order = finished.cumsum(dim=0)
        fresh = self.next + order - 1
        fresh = fresh.masked_fill(fresh >= self.num_waiting, nobody)
        self.sentence.copy_(torch.where(finished, fresh, self.sentence))
        self.next.add_(order[-1])
        self.num_done.add_(order[-1])
        begins = done[:, None]
        self.positions.masked_fill_(begins, 0)
        self.tokens.masked_fill_(begins, self.bos_id)
        self.totals.copy_(torch.where(begins, self.first_totals, self.totals))
        self.num_ended.masked_fill_(done, 0)
        self.ended_scores.masked_fill_(begins, -torch.inf)

    def history(self) -> tuple[Tensor, Tensor]:
        """The tokens [rows, max_len] of each row so far, and which places are filled."""
        beam, max_len = self.shape.beam, self.shape.max_len
        places = torch.arange(max_len, device=self.rows.device)
        written = self.choices[self.sentence] // beam
        if self.owners is not None:
            # The token of place p was read, and so its key written, at place p + 1.
            later = (places + 1).clamp(max=max_len - 1)
            owners = torch.where(later == self.positions[:, :, None], self.rows[:, :, None], self.owners[:, :, later])
            written = written.gather(1, owners % beam)
        there = places < self.positions[:, :, None]
        return written.flatten(0, 1).long(), there.flatten(0, 1)


def _top(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    largest, places = values.topk(count, dim=1) if count > 1 else values.max(dim=1, keepdim=True)
    return largest, places


def repeated(history: Tensor, there: Tensor, size: int, vocab_size: int) -> Tensor:
    """[rows, vocab]: -inf for tokens that would repeat an n-gram of this size, 0 for the rest."""
    lengths = there.sum(dim=1)
    same = there.clone()
    same[:, : size - 1] = False
    for back in range(1, size):
        # The token `back` places before the one that would come next, and before each place.
        context = history.gather(1, (lengths - back).clamp(min=0)[:, None])
        same[:, back:] &= history[:, :-back] == context
    same &= (lengths >= size - 1)[:, None]
    penalty = torch.zeros(same.shape, device=history.device).masked_fill(same, -torch.inf)
    table = torch.zeros((len(history), vocab_size), device=history.device)
    return table.scatter_add_(1, history.masked_fill(~there, 0), penalty)


def candidates(logits: Tensor, slots: Slots) -> tuple[Tensor, Tensor]:
    """The log-probabilities and tokens [rows, beam] of the best of each row, or as many as one is drawn from.

    Log-probabilities are the model's own, over all tokens; a token that is not allowed has -inf. `logits` may be
    overwritten.
    """
    shape, vocab_size = slots.shape, logits.shape[1]
    log_sums = logits.logsumexp(dim=1, keepdim=True)
    for token in slots.never:
        logits[:, token] = -torch.inf
    if shape.min_length:
        too_short = slots.positions.view(-1) < shape.min_length
        logits[:, slots.eos_id] = logits[:, slots.eos_id].masked_fill(too_short, -torch.inf)
    if shape.no_repeat_ngram:
        logits = logits + repeated(*slots.history(), shape.no_repeat_ngram, vocab_size)
    count = shape.beam if shape.sampling is None else shape.sampling[0]
    values, tokens = logits.topk(min(count, vocab_size), dim=1)
    # Where no token is possible both are infinite, and their difference is NaN.
    values = torch.nan_to_num(values - log_sums, nan=-torch.inf, neginf=-torch.inf)
    return values, tokens


def drawn(values: Tensor, tokens: Tensor, slots: Slots) -> tuple[Tensor, Tensor]:
    """One of the candidates of each row, best first, by the rules of `regard.decode.sampling`."""
    assert slots.shape.sampling is not None and slots.uniforms is not None
    _, temperature, top_p = slots.shape.sampling
    chances = ((values - values[:, :1]).double() / temperature).exp()
    before = chances.cumsum(dim=1) - chances
    chances = chances.masked_fill(before >= top_p * chances.sum(dim=1, keepdim=True), 0.0)
    # The distribution is inverted in the order of the vocabulary, as over all of it.
    tokens, order = tokens.sort(dim=1)
    cumulative = chances.gather(1, order).cumsum(dim=1)
    uniforms = slots.uniforms[slots.sentence, slots.positions[:, 0]].double()[:, None]
    place = (cumulative <= uniforms * cumulative[:, -1:]).sum(dim=1, keepdim=True).clamp(max=values.shape[1] - 1)
    return values.gather(1, order.gather(1, place)), tokens.gather(1, place)


def backtrace(
    config: DecodeConfig, choices: Host, gains: Host, endings: Host, end_gains: Host
) -> list[list[Hypothesis]]:
    """The n best outputs of each sentence, best first, from the tables of `Slots`."""
    num_sentences, beam, _ = choices.shape
    sentences, places = np.nonzero(endings[:, :beam] >= 0)
    ending = endings[sentences, places]
    lengths, rows, cut = (ending >> 1) // beam, (ending >> 1) % beam, (ending & 1).astype(bool)
    at = _path(choices, sentences, rows, lengths)
    tokens = choices.reshape(-1).take(at) // beam
    steps = np.arange(at.shape[1])
    values = np.where(steps < lengths[:, None], gains.reshape(-1).take(at), 0.0)
    last = np.where(cut, 0.0, end_gains[sentences, places])
    penalties = np.array([length_penalty(length, config.length_penalty) for length in range(at.shape[1] + 2)])
    scores = (values.sum(axis=1) + last) / penalties[lengths + ~cut]
    order = np.lexsort((-scores, cut, sentences))
    ranks = np.arange(len(order)) - np.searchsorted(sentences, sentences[order])
    order = order[ranks < config.n_best]
    best: list[list[Hypothesis]] = [[] for _ in range(num_sentences)]
    whole = (sentences, lengths, cut, tokens, values, last)
    for sentence, length, is_cut, token, value, end in zip(*(each[order].tolist() for each in whole), strict=True):
        gained = value[:length] if is_cut else [*value[:length], end]
        stop: Stop = "length" if is_cut else "end"
        best[sentence].append(hypothesis(token[:length], gained, stop, config))
    return best


def _path(choices: Host, sentences: Host, rows: Host, lengths: Host) -> Host:
    """The index of each step of each output in `choices`, flattened; arbitrary after its end."""
    _, beam, max_len = choices.shape
    steps = np.arange(int(lengths.max(initial=0)))
    first = sentences * (beam * max_len)
    if beam == 1:
        return first[:, None] + steps
    at = np.empty((len(steps), len(rows)), dtype=np.int64)
    flat = choices.reshape(-1)
    for step in steps[::-1]:
        at[step] = first + rows * max_len + step
        rows = np.where(step < lengths, flat.take(at[step]) % beam, rows)
    return at.T
