"""Beam search as Wu et al. 2016 and the paper use it (beam 4, alpha 0.6).

A hypothesis that ends takes its slot of the beam with it, so the beam narrows as sentences end, and a beam of one is
greedy search. A sentence is done when its slots are used up, or when no unfinished hypothesis can still reach its n best
(`penalties.best_attainable`). Outputs cut at the limit rank after ended ones.

The candidates of a step are plain Python numbers: they are too few for arrays to pay.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Array, Arrays, Host, arrays_for, arrays_of, log_probabilities_of
from regard.decode.constraints import Rules
from regard.decode.interface import (
    Hypothesis,
    State,
    StepModel,
    StepRecord,
    Stop,
)
from regard.decode.penalties import best_attainable, hypothesis
from regard.decode.required import ConstraintState, Extension, share_slots
from regard.decode.single_path import Beginning, offers_best, pick_forced, read_beginning, record

Choice = tuple[float, int, int, float]
"""a candidate: (total, row, token, log-probability of the token)"""
Trail = tuple[Any, int, float, Host | None] | None
"""the last token of a hypothesis: (the trail before it, token, log-probability, its attention weights)"""


class Row(NamedTuple):
    """An unfinished hypothesis; those of one source are neighbours, the best first."""

    source: int
    total: float
    trail: Trail

    def tokens(self) -> list[int]:
        return [step[1] for step in self.steps()]

    def steps(self) -> list[Any]:
        steps = []
        trail = self.trail
        while trail is not None:
            steps.append(trail)
            trail = trail[0]
        return steps[::-1]


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
        self.show = attention
        self.attention = attention or config.coverage_penalty > 0
        self.history = history
        # Each token of a required word may need slots of its own besides the beam.
        self.slots = [config.beam + (each.total if each else 0) for each in rules.required]
        self.has_required = any(each is not None for each in rules.required)
        self.count = max(self.slots) + len(rules.excluded(0))
        """best tokens of a row that a step returns; constant, so that an engine can prepare for it"""
        self.limits = rules.limits.tolist()
        self.shortest = min(self.limits)
        self.settling: set[int] = set()
        self.ended: list[list[Hypothesis]] = [[] for _ in sources]
        self.cut: list[list[Hypothesis]] = [[] for _ in sources]
        self.length = 0
        self.rows = [Row(source, 0.0, None) for source in range(len(sources))]
        self.seen: Host | None = None
        """attention weights of each row in the newest step, where they are asked for"""

    def run(self, model: StepModel) -> list[list[Hypothesis]]:
        arrays = arrays_for(model)
        state = model.start(self.sources, attention=self.attention)
        inputs = [self.rules.bos_id] * len(self.rows)
        step_best = offers_best(model, self.rules, self.history)
        every_step = self.attention or self.history is not None
        owners = np.arange(len(self.rows))
        beginning = read_beginning(model, self.rules, owners, state, every_step=every_step)
        if beginning is not None:
            state, inputs = beginning.state, beginning.tokens[:, -1].tolist()
            self._begin(beginning)
        while True:
            if step_best is not None and self.length >= self.rules.longest_prefix:
                values, tokens, state = step_best(inputs, state, self.count)
                self._look(arrays, state)
                choices = self._best_of(values, tokens, self.rules.excluded(self.length), {})
            else:
                logits, state = model.step(arrays.integers(np.array(inputs)), state)
                arrays = arrays_of(logits)
                self._look(arrays, state)
                choices = self._choose(arrays, log_probabilities_of(model, logits))
            kept = self._settle(choices)
            if not kept:
                return [self._best(source) for source in range(len(self.sources))]
            parents = [choice[1] for choice in kept]
            if parents != list(range(len(self.rows))):
                state = state.select(arrays.integers(np.array(parents)))
            inputs = [choice[2] for choice in kept]
            self._extend(kept)

    def _begin(self, beginning: Beginning) -> None:
        """Extend every row by its forced prefix."""
        columns = zip(
            beginning.tokens.T.tolist(), beginning.log_probabilities.T.tolist(), strict=True
        )
        for tokens, values in columns:
            extended = zip(self.rows, tokens, values, strict=True)
            self._extend(
                [
                    (row.total + value, index, token, value)
                    for index, (row, token, value) in enumerate(extended)
                ]
            )

    def _look(self, arrays: Arrays, state: State) -> None:
        if self.attention:
            self.seen = arrays.host(state.attention)

    def _choose(self, arrays: Arrays, log_probabilities: Array) -> list[Choice]:
        """The candidates of each source, ends among them."""
        rules, rows, length = self.rules, self.rows, self.length
        sources = np.array([row.source for row in rows])
        reads_tokens = rules.look_back or self.has_required or self.history is not None
        so_far = [row.tokens() for row in rows] if reads_tokens else []
        if self.history is not None:
            totals = np.array([row.total for row in rows])
            self.history.append(record(arrays, log_probabilities, sources, so_far, totals))
        forced = rules.forced(sources, length)
        forced_values = pick_forced(arrays, log_probabilities, forced)
        states: dict[int, ConstraintState] = {}
        if self.has_required:
            states = rules.constraint_states(sources, so_far, arrays, log_probabilities, forced)
        seen = so_far if rules.look_back else None
        rules.forbid(arrays, log_probabilities, sources, length, seen)
        values, tokens = arrays.top(log_probabilities, max(self.slots[row.source] for row in rows))
        if forced:
            forced_rows = list(forced)
            values[forced_rows] = -np.inf
            values[forced_rows, 0] = forced_values
            tokens[forced_rows, 0] = list(forced.values())
        return self._best_of(values.tolist(), tokens.tolist(), (), states, forced)

    def _best_of(
        self,
        values: list[list[float]],
        tokens: list[list[int]],
        excluded: Container[int],
        states: Mapping[int, ConstraintState],
        forced: Container[int] = (),
    ) -> list[Choice]:
        """The best candidates of each source, as many as it has slots.

        A forced token never ends a row, even if it is the end token: see `_settle`.
        """
        pools: dict[int, list[Choice]] = {}
        for index, (source, total, _) in enumerate(self.rows):
            if index in states:
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
        self.all_go_on = not states and all(pools.values())
        if states:
            pools |= self._share(values, tokens, states)
        return [choice for _, pool in sorted(pools.items()) for choice in pool]

    def _share(
        self,
        values: list[list[float]],
        tokens: list[list[int]],
        states: Mapping[int, ConstraintState],
    ) -> dict[int, list[Choice]]:
        """The candidates of the sources with required words."""
        banks: dict[int, list[Extension]] = {}
        for index, state in states.items():
            row = self.rows[index]
            room = max(self.limits[row.source] - self.length - 1, 0)
            candidates = state.extensions(index, row.total, values[index], tokens[index], room)
            banks.setdefault(row.source, []).extend(candidates)
        return {
            source: [
                (each.total, each.row, each.token, each.log_probability)
                for each in share_slots(candidates, self.slots[source])
            ]
            for source, candidates in banks.items()
        }

    def _settle(self, choices: list[Choice]) -> list[Choice]:
        """Finish the hypotheses that have ended or are cut, and return the candidates that go on."""
        rows, eos_id = self.rows, self.rules.eos_id
        if self.all_go_on and self.length < self.shortest and not self.settling:
            if not any(choice[2] == eos_id for choice in choices):
                return choices
        stuck = {row.source for row in rows}.difference(
            rows[index].source for _, index, _, _ in choices
        )
        stuck |= {row.source for row in rows if self.limits[row.source] <= self.length}
        kept: list[Choice] = []
        ended: set[int] = set()
        for choice in choices:
            _, index, token, value = choice
            source = rows[index].source
            if token == eos_id and index not in self.forced:
                ended.add(index)
                self._finish(index, value)
                self.slots[source] -= 1
                if len(self.ended[source]) >= self.config.n_best:
                    self.settling.add(source)
            elif source not in stuck:
                kept.append(choice)
        for index, row in enumerate(rows):
            if row.source in stuck and index not in ended:
                self._finish(index, None)
        for source in sorted(self.settling):
            mine = [choice for choice in kept if rows[choice[1]].source == source]
            if not mine or self._settled(source, mine[0][0]):
                kept = [choice for choice in kept if rows[choice[1]].source != source]
                self.settling.discard(source)
        return kept

    def _settled(self, source: int, total: float) -> bool:
        """Whether none of the source's candidates can reach its n best."""
        config = self.config
        worst = sorted((each.score for each in self.ended[source]), reverse=True)[config.n_best - 1]
        limit = self.limits[source]
        return best_attainable(total, self.length + 1, limit, config.length_penalty) <= worst

    def _extend(self, kept: list[Choice]) -> None:
        """Replace the rows by the chosen ones, each with its new token."""
        rows, seen = self.rows, self.seen
        self.rows = [
            Row(
                rows[index].source,
                total,
                (rows[index].trail, token, value, None if seen is None else seen[index]),
            )
            for total, index, token, value in kept
        ]
        self.length += 1

    def _finish(self, index: int, end: float | None) -> None:
        """Collect one row: ended with this log-probability, or cut."""
        row = self.rows[index]
        steps = row.steps()
        values = [step[2] for step in steps]
        weights = [step[3] for step in steps]
        stop: Stop = "length" if end is None else "end"
        if end is not None:
            values.append(end)
            weights.append(None if self.seen is None else self.seen[index])
        finished = hypothesis(
            [step[1] for step in steps],
            values,
            stop,
            self.config.length_penalty,
            weights=weights,
            source_len=len(self.sources[row.source]) if self.attention else None,
            beta=self.config.coverage_penalty,
            show=self.show,
        )
        (self.cut if end is None else self.ended)[row.source].append(finished)

    def _best(self, source: int) -> list[Hypothesis]:
        """Ended outputs by score, then cut ones."""
        ranked = [
            sorted(hypotheses, key=lambda each: -each.score)
            for hypotheses in (self.ended[source], self.cut[source])
        ]
        return (ranked[0] + ranked[1])[: self.config.n_best]
