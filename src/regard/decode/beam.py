"""Beam search as Wu et al. 2016 and the paper use it (beam 4, alpha 0.6).

A hypothesis that ends takes its slot of the beam with it, so the beam narrows as sentences end, and a beam of one is
greedy search. A sentence is done when its slots are used up, or when no unfinished hypothesis can still reach its n best
(`best_attainable`). Outputs cut at the limit rank after ended ones.

The candidates of a step are plain Python numbers: they are too few for arrays to pay.
"""

import math
from collections.abc import Container, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Array, Arrays, Host, arrays_for, arrays_of, log_probabilities_of
from regard.decode.constraints import ConstraintProgress, Extension, Rules, share_slots
from regard.decode.interface import Hypothesis, StepModel, StepRecord, best_attainable, hypothesis, length_penalty
from regard.decode.single_path import read_beginning, record

Trail = tuple[Any, int, float, Host | None] | None
"""the last token of a hypothesis: (the trail before it, token, log-probability, its attention weights)"""


class Row(NamedTuple):
    """An unfinished hypothesis; those of one source are neighbours, the best first."""

    source: int
    total: float
    trail: Trail
    progress: ConstraintProgress = ()  # of the source's required words

    def steps(self) -> list[Any]:
        steps, trail = [], self.trail
        while trail is not None:
            steps.append(trail)
            trail = trail[0]
        return steps[::-1]


class Stretch(NamedTuple):
    """What an engine needs to take steps of a beam search by itself, until a hypothesis ends or a source may be done."""

    totals: list[float]  # of the rows; those of one source are neighbours
    slots: list[int]  # rows of each source
    floors: list[float]  # a source whose best total is no higher may be done
    excluded: Sequence[int]  # tokens that no row may write
    most: int  # steps, with the one whose best tokens are returned


Taken = tuple[list[int], list[int], list[float]]
"""a step of a stretch: the parent of each newer row, its token and the token's log-probability"""


class BeamSearch:
    """One call of the search: `run` takes the steps and collects the outputs."""

    def __init__(
        self,
        sources: Sequence[Sequence[int]],
        config: DecodeConfig,
        rules: Rules,
        *,
        attention: bool = False,
        history: list[StepRecord] | None = None,
    ) -> None:
        self.sources, self.config, self.rules = sources, config, rules
        self.show, self.history = attention, history
        self.attention = attention or config.coverage_penalty > 0
        # Each token of a required word may need slots of its own besides the beam.
        self.slots = [config.beam + each.total for each in rules.required]
        self.count = max(self.slots) + len(rules.excluded(0))
        """best tokens of a row that a step returns; constant, so that an engine can prepare for it"""
        self.limits = rules.limits.tolist()
        self.shortest = min(self.limits)
        self.nth_best: dict[int, float] = {}
        """score of the n-th best output of each source that has so many and still goes on"""
        self.ended: list[list[Hypothesis]] = [[] for _ in sources]
        self.cut: list[list[Hypothesis]] = [[] for _ in sources]
        self.length = 0
        self.rows = [Row(source, 0.0, None, each.start) for source, each in enumerate(rules.required)]
        self.seen: Host | None = None
        """attention weights of each row in the newest step, where they are asked for"""

    def run(self, model: StepModel) -> list[list[Hypothesis]]:
        arrays = arrays_for(model)
        state = model.start(self.sources, attention=self.attention)
        inputs = [self.rules.bos_id] * len(self.rows)
        needs_all = self.history is not None or self.rules.look_back or self.rules.has_required
        step_best = None if needs_all else getattr(model, "step_best", None)
        every_step = self.attention or self.history is not None
        beginning = None if every_step else read_beginning(model, self.rules, np.arange(len(self.rows)), state)
        if beginning is not None:
            tokens, values, state = beginning
            inputs = tokens[:, -1].tolist()
            for column, their_values in zip(tokens.T.tolist(), values.T.tolist(), strict=True):
                extended = enumerate(zip(self.rows, column, their_values, strict=True))
                self._extend([(row.total + value, i, token, value) for i, (row, token, value) in extended])
        while True:
            if step_best is not None and self.length >= self.rules.longest_prefix:
                taken, best, best_tokens, state = step_best(inputs, state, self.count, self._stretch())
                for step in taken:
                    chosen = zip(*step, strict=True)
                    self._extend([(self.rows[i].total + value, i, token, value) for i, token, value in chosen])
                choices = self._best_of(best, best_tokens, self.rules.excluded(self.length), {})
            else:
                logits, state = model.step(arrays.integers(np.array(inputs)), state)
                arrays = arrays_of(logits)
                choices = self._choose(arrays, log_probabilities_of(model, logits))
            if self.attention:
                self.seen = arrays.host(state.attention)
            kept = self._settle(choices)
            if not kept:
                kinds = self.ended, self.cut
                ranked = [[sorted(found, key=lambda each: -each.score) for found in kind] for kind in kinds]
                return [(ended + cut)[: self.config.n_best] for ended, cut in zip(*ranked, strict=True)]
            parents = [choice[1] for choice in kept]
            if parents != list(range(len(self.rows))):
                state = state.select(arrays.integers(np.array(parents)))
            inputs = [choice[2] for choice in kept]
            self._extend(kept)

    def _stretch(self) -> Stretch | None:
        """The steps that an engine may take by itself; None if the next one already may be special."""
        alive, totals = list(dict.fromkeys(row.source for row in self.rows)), [row.total for row in self.rows]
        slots, alpha = [self.slots[source] for source in alive], self.config.length_penalty
        shortest = self.config.min_length if self.length < self.config.min_length else self.shortest
        most = min(shortest, self.shortest) - self.length + 1
        if self.attention or most < 2 or len(totals) < sum(slots) or (self.nth_best and alpha < 0):
            return None
        # Slightly more than the totals that `best_attainable` finds hopeless.
        scores = ((self.nth_best.get(source, -math.inf), self.limits[source] + 1) for source in alive)
        floors = [score * length_penalty(length, alpha) + 1e-6 for score, length in scores]
        return Stretch(totals, slots, floors, self.rules.excluded(self.length), most)

    def _choose(self, arrays: Arrays, log_probabilities: Array) -> list[Extension]:
        """The candidates of each source, ends among them."""
        rules, rows, length = self.rules, self.rows, self.length
        sources = np.array([row.source for row in rows])
        reads_tokens = rules.look_back or self.history is not None
        so_far = [[step[1] for step in row.steps()] for row in rows] if reads_tokens else []
        if self.history is not None:
            self.history.append(record(log_probabilities, sources.tolist(), so_far, [row.total for row in rows]))
        forced, forced_tokens, forced_values = rules.forced(log_probabilities, sources, length)
        wanted = {}
        if rules.has_required:
            wanted = rules.wanted(log_probabilities, sources, [row.progress for row in rows], so_far, forced)
        rules.forbid(log_probabilities, sources, length, so_far)
        best = arrays.top(log_probabilities, max(self.slots[row.source] for row in rows))
        best[0][forced] = -np.inf
        best[0][forced, 0], best[1][forced, 0] = forced_values, forced_tokens
        values, tokens = (each.tolist() for each in best)
        pools = self._share(values, tokens, wanted, forced)
        return self._best_of(values, tokens, (), pools, forced)

    def _share(
        self, values: list[list[float]], tokens: list[list[int]], wanted: dict[int, dict[int, float]], forced: list[int]
    ) -> dict[int, list[Extension]]:
        """The candidates of the sources with required words."""
        banks: dict[int, list[tuple[float, Extension]]] = {}
        for index, next_tokens in wanted.items():
            (source, total, _, progress), is_forced = self.rows[index], index in forced
            room = max(self.limits[source] - self.length - 1, 0)
            bank = banks.setdefault(source, [])
            pairs = zip(tokens[index], values[index], strict=True)
            best = {token: value for token, value in pairs if value > -math.inf}
            for token, value in (best | next_tokens).items():
                need = self.rules.need_after(source, progress, token, forced=is_forced)
                if need <= room or is_forced:
                    bank.append((need, (total + value, index, token, value)))
        return {source: share_slots(bank, self.slots[source]) for source, bank in banks.items()}

    def _best_of(
        self,
        values: list[list[float]],
        tokens: list[list[int]],
        excluded: Container[int],
        shared: dict[int, list[Extension]],
        forced: Container[int] = (),
    ) -> list[Extension]:
        """The best candidates of each source, as many as it has slots; `shared` are those with required words.

        A forced token never ends a row, even if it is the end token: see `_settle`.
        """
        pools: dict[int, list[Extension]] = {}
        for index, (source, total, *_) in enumerate(self.rows):
            if source in shared:
                continue
            pool = pools.setdefault(source, [])
            slots = self.slots[source]
            # A candidate that cannot displace one of an earlier row ends the row, whose values fall.
            worst = pool[-1][0] if len(pool) == slots else -math.inf
            for value, token in zip(values[index], tokens[index], strict=True):
                if token in excluded:
                    continue
                if total + value <= worst:
                    break
                pool.append((total + value, index, token, value))
            pool.sort(key=itemgetter(0), reverse=True)
            del pool[slots:]
        self.forced = forced
        return [choice for _, pool in sorted((pools | shared).items()) for choice in pool]

    def _settle(self, choices: list[Extension]) -> list[Extension]:
        """Finish the hypotheses that have ended or are cut, and return the candidates that go on."""
        rows, eos_id = self.rows, self.rules.eos_id
        stuck = {row.source for row in rows}.difference(rows[index].source for _, index, _, _ in choices)
        stuck |= {row.source for row in rows if self.limits[row.source] <= self.length}
        kept: list[Extension] = []
        ended: set[int] = set()
        for choice in choices:
            _, index, token, value = choice
            source = rows[index].source
            if token == eos_id and index not in self.forced:
                ended.add(index)
                self._finish(index, value)
                self.slots[source] -= 1
                if len(self.ended[source]) >= self.config.n_best:
                    scores = sorted((each.score for each in self.ended[source]), reverse=True)
                    self.nth_best[source] = scores[self.config.n_best - 1]
            elif source not in stuck:
                kept.append(choice)
        for index, row in enumerate(rows):
            if row.source in stuck and index not in ended:
                self._finish(index, None)
        for source, worst in sorted(self.nth_best.items()):
            total = next((choice[0] for choice in kept if rows[choice[1]].source == source), -math.inf)
            hope = best_attainable(total, self.length + 1, self.limits[source], self.config.length_penalty)
            if hope <= worst:
                kept = [choice for choice in kept if rows[choice[1]].source != source]
                del self.nth_best[source]
        return kept

    def _extend(self, kept: list[Extension]) -> None:
        """Replace the rows by the chosen ones, each with its new token."""
        before, seen, required = self.rows, self.seen, self.rules.required
        self.rows = []
        for total, index, token, value in kept:
            source, _, trail, progress = before[index]
            trail = trail, token, value, None if seen is None else seen[index]
            self.rows.append(Row(source, total, trail, progress and required[source].advance(progress, token)))
        self.length += 1

    def _finish(self, index: int, end: float | None) -> None:
        """Collect one row: ended with this log-probability, or cut."""
        row = self.rows[index]
        steps = row.steps()
        tokens, values, weights = ([step[part] for step in steps] for part in (1, 2, 3))
        if end is not None:
            values.append(end)
            weights.append(None if self.seen is None else self.seen[index])
        size = len(self.sources[row.source]) if self.attention else None
        out = hypothesis(tokens, values, "length" if end is None else "end", self.config, weights, size, show=self.show)
        (self.cut if end is None else self.ended)[row.source].append(out)
