"""Beam search as Wu et al. 2016 and the paper use it (beam 4, alpha 0.6).

A hypothesis that ends takes its slot of the beam with it, so the beam narrows as sentences end, and a
beam of one is greedy search. A sentence is done when its slots are used up, or when nothing alive can
still reach its n best (`penalties.best_attainable`). Outputs cut at the limit rank after ended ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Array, Arrays, Host, arrays_for, arrays_of, log_probabilities_of
from regard.decode.constraints import Rules
from regard.decode.interface import IMPOSSIBLE, Hypothesis, State, StepModel, StepRecord, Stop
from regard.decode.penalties import best_attainable, hypothesis
from regard.decode.required import Candidate, Progress, Required, deal
from regard.decode.walk import pick_forced, record


@dataclass(frozen=True, slots=True)
class Beams:
    """All hypotheses alive, one a row: those of one source side by side, the best first."""

    sources: Host
    tokens: Host
    log_probabilities: Host
    totals: Host
    attention: Host | None
    """[rows, length, source_len], where it is asked for"""

    @property
    def length(self) -> int:
        return int(self.tokens.shape[1])


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidates that a step keeps, in the order of the beams to come."""

    rows: Host
    tokens: Host
    log_probabilities: Host
    ends: Host


class BeamSearch:
    """One call: the outputs collected so far and the rules; `run` walks through the steps."""

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
        # Each token of a required word may keep a bank of hypotheses busy besides the plain beam.
        self.slots = np.array(
            [config.beam + (each.total if each else 0) for each in rules.required]
        )
        self.dutiful = any(each is not None for each in rules.required)
        self.settling: set[int] = set()
        self.ended: list[list[Hypothesis]] = [[] for _ in sources]
        self.cut: list[list[Hypothesis]] = [[] for _ in sources]

    def run(self, model: StepModel) -> list[list[Hypothesis]]:
        arrays = arrays_for(model)
        state = model.start(self.sources, attention=self.attention)
        num_rows = len(self.sources)
        beams = Beams(
            sources=np.arange(num_rows),
            tokens=np.zeros((num_rows, 0), dtype=np.int64),
            log_probabilities=np.zeros((num_rows, 0)),
            totals=np.zeros(num_rows),
            attention=None,
        )
        inputs = np.full(num_rows, self.rules.bos_id)
        while len(inputs):
            logits, state = model.step(arrays.integers(inputs), state)
            arrays = arrays_of(logits)
            beams = self._with_attention(arrays, beams, state)
            choice = self._choose(arrays, log_probabilities_of(model, logits), beams)
            kept = self._settle(beams, choice)
            rows, inputs = choice.rows[kept], choice.tokens[kept]
            if len(rows) and not np.array_equal(rows, np.arange(len(beams.sources))):
                state = state.select(arrays.integers(rows))
            beams = _extend(beams, rows, inputs, choice.log_probabilities[kept])
        return [self._best(source) for source in range(num_rows)]

    def _with_attention(self, arrays: Arrays, beams: Beams, state: State) -> Beams:
        """Add the weights of the newest step, whose token is yet to be chosen."""
        if not self.attention:
            return beams
        newest = arrays.host(state.attention)[:, None]
        past = beams.attention
        return replace(
            beams, attention=newest if past is None else np.concatenate([past, newest], axis=1)
        )

    def _choose(self, arrays: Arrays, log_probabilities: Array, beams: Beams) -> Choice:
        """What each source goes on with, or ends with."""
        rules = self.rules
        if self.history is not None:
            prefixes = beams.tokens.tolist()
            self.history.append(
                record(arrays, log_probabilities, beams.sources, prefixes, beams.totals)
            )
        forced = rules.forced(beams.sources, beams.length)
        forced_values = pick_forced(arrays, log_probabilities, forced)
        duties = self._duties(arrays, log_probabilities, beams, forced) if self.dutiful else {}
        so_far = beams.tokens.tolist() if rules.look_back else None
        rules.forbid(arrays, log_probabilities, beams.sources, beams.length, so_far)
        values, tokens = arrays.top(log_probabilities, int(self.slots[beams.sources].max()))
        if forced:
            rows = list(forced)
            values[rows] = -np.inf
            values[rows, 0] = forced_values
            tokens[rows, 0] = list(forced.values())
        choice = self._best_of(beams, values, tokens, duties)
        if forced:
            choice.ends[np.isin(choice.rows, list(forced))] = False
        return choice

    def _best_of(self, beams: Beams, values: Host, tokens: Host, duties: dict[int, Duty]) -> Choice:
        """The best candidates of each source, as many as it has slots."""
        count = values.shape[1]
        totals = beams.totals[:, None] + values
        if duties:
            totals[list(duties)] = -np.inf
        candidates = totals.ravel()
        owners = beams.sources.repeat(count)
        order = np.lexsort((-candidates, owners))
        owners = owners[order]
        ranks = np.arange(len(order)) - np.searchsorted(owners, owners)
        order = order[(ranks < self.slots[owners]) & (candidates[order] > -np.inf)]
        rows, chosen, gains = order // count, tokens.ravel()[order], values.ravel()[order]
        if duties:
            dealt = self._deal(beams, values, tokens, duties)
            rows = np.concatenate([rows, np.array([each.row for each in dealt], dtype=np.int64)])
            chosen = np.concatenate([chosen, np.array([each.token for each in dealt], np.int64)])
            gains = np.concatenate([gains, np.array([each.log_probability for each in dealt])])
            order = np.argsort(beams.sources[rows], kind="stable")
            rows, chosen, gains = rows[order], chosen[order], gains[order]
        return Choice(rows, chosen, gains, chosen == self.rules.eos_id)

    def _duties(
        self, arrays: Arrays, log_probabilities: Array, beams: Beams, forced: dict[int, int]
    ) -> dict[int, Duty]:
        """For each row with required words: how far it is, and what would bring it forward."""
        duties: dict[int, Duty] = {}
        rows: list[int] = []
        wanted: list[int] = []
        for row, source in enumerate(beams.sources.tolist()):
            required = self.rules.required[source]
            if required is None:
                continue
            tokens = beams.tokens[row].tolist()
            duties[row] = Duty(required, required.after(tokens), forced=row in forced)
            if row not in forced:
                allowed = required.wanted(duties[row].progress)
                allowed -= self.rules.banned_next(source, tokens)
                rows += [row] * len(allowed)
                wanted += sorted(allowed)
        if rows:
            values = arrays.host(arrays.pick(log_probabilities, np.array(rows), np.array(wanted)))
            for row, token, value in zip(rows, wanted, values.tolist(), strict=True):
                duties[row].wanted[token] = max(value, IMPOSSIBLE)
        return duties

    def _deal(
        self, beams: Beams, values: Host, tokens: Host, duties: dict[int, Duty]
    ) -> list[Candidate]:
        """The candidates of the sources with required words."""
        banks: dict[int, list[Candidate]] = {}
        for row, duty in duties.items():
            source = int(beams.sources[row])
            room = max(int(self.rules.limits[source]) - beams.length - 1, 0)
            total = float(beams.totals[row])
            proposed = {
                token: value
                for token, value in zip(tokens[row].tolist(), values[row].tolist(), strict=True)
                if value > -np.inf
            }
            for token, value in {**proposed, **duty.wanted}.items():
                need = duty.need_after(token, self.rules.eos_id)
                if need <= room or duty.forced:
                    candidate = Candidate(row, token, value, total + value, need)
                    banks.setdefault(source, []).append(candidate)
        return [
            candidate
            for source, candidates in banks.items()
            for candidate in deal(candidates, int(self.slots[source]))
        ]

    def _settle(self, beams: Beams, choice: Choice) -> Host:
        """Take out what has ended and what is cut; which candidates go on."""
        owners = beams.sources[choice.rows]
        keep = ~choice.ends
        for index in np.flatnonzero(choice.ends).tolist():
            source = int(owners[index])
            self._finish(beams, int(choice.rows[index]), float(choice.log_probabilities[index]))
            self.slots[source] -= 1
            if len(self.ended[source]) >= self.config.n_best:
                self.settling.add(source)
        stuck = np.ones(len(self.sources), dtype=bool)
        stuck[owners] = False
        stuck |= self.rules.limits <= beams.length
        if stuck[beams.sources].any():
            ended = set(choice.rows[choice.ends].tolist())
            for row in np.flatnonzero(stuck[beams.sources]).tolist():
                if row not in ended:
                    self._finish(beams, row, None)
            keep &= ~stuck[owners]
        for source in sorted(self.settling):
            mine = np.flatnonzero(keep & (owners == source))
            if not len(mine) or self._settled(beams, choice, source, int(mine[0])):
                keep[mine] = False
                self.settling.discard(source)
        return np.flatnonzero(keep)

    def _settled(self, beams: Beams, choice: Choice, source: int, best: int) -> bool:
        """Whether not even the best of the source's candidates can reach its n best."""
        config = self.config
        total = float(beams.totals[choice.rows[best]] + choice.log_probabilities[best])
        limit = int(self.rules.limits[source])
        worst = sorted((each.score for each in self.ended[source]), reverse=True)[config.n_best - 1]
        return best_attainable(total, beams.length + 1, limit, config.length_penalty) <= worst

    def _finish(self, beams: Beams, row: int, end: float | None) -> None:
        """Hand over one row: ended with this log-probability, or cut."""
        source = int(beams.sources[row])
        values = beams.log_probabilities[row].tolist()
        stop: Stop = "length" if end is None else "end"
        if end is not None:
            values.append(end)
        weights = beams.attention
        finished = hypothesis(
            beams.tokens[row].tolist(),
            values,
            stop,
            self.config.length_penalty,
            attention=None
            if weights is None
            else weights[row, : len(values), : len(self.sources[source])],
            beta=self.config.coverage_penalty,
            show=self.show,
        )
        (self.cut if end is None else self.ended)[source].append(finished)

    def _best(self, source: int) -> list[Hypothesis]:
        """Ended outputs by score, then cut ones."""
        ranked = [
            sorted(hypotheses, key=lambda each: -each.score)
            for hypotheses in (self.ended[source], self.cut[source])
        ]
        return (ranked[0] + ranked[1])[: self.config.n_best]


@dataclass(slots=True)
class Duty:
    """What a hypothesis still owes its required words."""

    required: Required
    progress: Progress
    forced: bool
    """still inside its prefix, where it has no choice"""
    wanted: dict[int, float] = field(default_factory=dict)
    """log-probabilities of the tokens that bring a word forward"""

    def need_after(self, token: int, eos_id: int) -> int:
        """How many tokens would still be missing; the end may only come when none is."""
        if token == eos_id and not self.forced:
            return 0 if self.required.need(self.progress) == 0 else UNPAYABLE
        return self.required.need(self.required.advance(self.progress, token))


UNPAYABLE = 1 << 60
"""No output has room for so many tokens."""


def _extend(beams: Beams, rows: Host, tokens: Host, values: Host) -> Beams:
    """The chosen rows, each with its new token."""
    return Beams(
        beams.sources[rows],
        np.concatenate([beams.tokens[rows], tokens[:, None]], axis=1),
        np.concatenate([beams.log_probabilities[rows], values[:, None]], axis=1),
        beams.totals[rows] + values,
        None if beams.attention is None else beams.attention[rows],
    )
