"""What the hypotheses of a beam still owe their required words, and what each proposes to bring them forward."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from regard.decode.arrays import Array, Arrays, Host
from regard.decode.constraints import Rules
from regard.decode.interface import IMPOSSIBLE
from regard.decode.required import Candidate, Progress, Required

Trail = tuple[Any, int, float, Host | None] | None
"""The last token of a hypothesis: (the trail before it, token, log-probability, what it attended to)."""


class Row(NamedTuple):
    """A hypothesis alive. Those of one source stand side by side, the best first."""

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


@dataclass(slots=True)
class Duty:
    """What a hypothesis still owes its required words."""

    required: Required
    progress: Progress
    eos_id: int
    forced: bool
    """still inside its prefix, where it has no choice"""
    wanted: dict[int, float] = field(default_factory=dict)
    """log-probabilities of the tokens that bring a word forward"""

    def candidates(
        self, index: int, total: float, values: list[float], tokens: list[int], room: int
    ) -> Iterator[Candidate]:
        """What the row may go on with, its best tokens and the wanted ones, such that the rest still fits."""
        proposed = {
            token: value for token, value in zip(tokens, values, strict=True) if value > -math.inf
        }
        for token, value in {**proposed, **self.wanted}.items():
            need = self._need_after(token)
            if need <= room or self.forced:
                yield Candidate(index, token, value, total + value, need)

    def _need_after(self, token: int) -> int:
        """How many tokens would still be missing; the end may only come when none is."""
        if token == self.eos_id and not self.forced:
            return 0 if self.required.need(self.progress) == 0 else UNPAYABLE
        return self.required.need(self.required.advance(self.progress, token))


UNPAYABLE = 1 << 60
"""No output has room for so many tokens."""


def find_duties(
    rules: Rules,
    beam: Sequence[Row],
    arrays: Arrays,
    log_probabilities: Array,
    forced: dict[int, int],
) -> dict[int, Duty]:
    """For each row with required words: how far it is, and what would bring it forward."""
    duties: dict[int, Duty] = {}
    rows: list[int] = []
    wanted: list[int] = []
    for index, row in enumerate(beam):
        required = rules.required[row.source]
        if required is None:
            continue
        tokens = row.tokens()
        progress = required.after(tokens)
        duties[index] = Duty(required, progress, rules.eos_id, forced=index in forced)
        if index not in forced:
            allowed = required.wanted(progress) - rules.banned_next(row.source, tokens)
            rows += [index] * len(allowed)
            wanted += sorted(allowed)
    if rows:
        values = arrays.host(arrays.pick(log_probabilities, np.array(rows), np.array(wanted)))
        for index, token, value in zip(rows, wanted, values.tolist(), strict=True):
            duties[index].wanted[token] = max(value, IMPOSSIBLE)
    return duties
