"""Constraints on an output: its prefix, banned and required words, its length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.config import DecodeConfig
from regard.decode.arrays import Array, Arrays, Host
from regard.decode.interface import IMPOSSIBLE
from regard.decode.required import ConstraintState, Required, contains
from regard.errors import UsageError

Tokens = Sequence[int]


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints of one sentence, in token ids."""

    prefix: Tokens = ()
    """the output begins with these; they belong to it and count in its length"""
    banned: Sequence[Tokens] = ()
    """sequences (words of one or more tokens) that appear nowhere in the output"""
    required: Sequence[Tokens] = ()
    """sequences that each appear somewhere in the output; beam search only"""

    def fits(self, max_length: int) -> bool:
        """Whether the prefix and the required sequences have room in an output; 0 is no limit."""
        needed = len(self.prefix) + sum(map(len, self.required))
        return not max_length or needed <= max_length


class Rules:
    """The configuration and the constraints of one call, ready to be applied to its rows.

    A required sequence may repeat an n-gram; a ban is never broken, even where a required sequence then
    cannot be completed.
    """

    def __init__(
        self,
        sources: Sequence[Tokens],
        config: DecodeConfig,
        constraints: Sequence[Constraints] | None,
        *,
        bos_id: int,
        eos_id: int,
        pad_id: int,
    ) -> None:
        assert constraints is None or len(constraints) == len(sources)
        self.constraints = constraints or [Constraints()] * len(sources)
        self.bos_id, self.eos_id = bos_id, eos_id
        self._never = sorted({bos_id, pad_id} - {eos_id})
        self._min_length = config.min_length
        self._ngram = config.no_repeat_ngram
        self.longest_prefix = max((len(each.prefix) for each in self.constraints), default=0)
        self._bans = any(each.banned for each in self.constraints)
        self.required = [
            Required(each.required) if each.required else None for each in self.constraints
        ]
        self.limits = np.array(
            [
                config.max_length
                or 2 * len(source) + 50 + len(each.prefix) + (required.total if required else 0)
                for source, each, required in zip(
                    sources, self.constraints, self.required, strict=True
                )
            ],
            dtype=np.int64,
        )
        self._check()

    def _check(self) -> None:
        for each, limit, required in zip(
            self.constraints, self.limits.tolist(), self.required, strict=True
        ):
            prefix = list(each.prefix)
            if len(prefix) > limit:
                raise UsageError(
                    f"a forced prefix must fit into max_length: got {len(prefix)} tokens for a limit of "
                    f"{limit}; raise max_length or shorten the prefix"
                )
            for ban in each.banned:
                if not ban:
                    raise UsageError(
                        "a banned word must have at least one token: got an empty one; leave it out"
                    )
                if contains(prefix, ban) or any(contains(word, ban) for word in each.required):
                    raise UsageError(
                        f"a word cannot be both banned and asked for: tokens {list(ban)} are banned but "
                        "stand in the prefix or in a required word; drop one of the two"
                    )
            if required is not None:
                need = required.need(required.progress(prefix))
                if len(prefix) + need > limit:
                    raise UsageError(
                        f"the required words must fit into max_length: got {need} tokens after a prefix of "
                        f"{len(prefix)} for a limit of {limit}; raise max_length or require less"
                    )

    @property
    def plain(self) -> bool:
        """Whether all rows may write the same tokens after their prefixes, and no word is required."""
        return not (self.look_back or any(self.required))

    @property
    def look_back(self) -> bool:
        """Whether the allowed tokens depend on those already written."""
        return self._bans or self._ngram > 0

    def forced(self, sources: Host, length: int) -> dict[int, int]:
        """The forced token of each row still inside its prefix; sources: the source of each row."""
        if length >= self.longest_prefix:
            return {}
        return {
            row: self.constraints[source].prefix[length]
            for row, source in enumerate(sources.tolist())
            if length < len(self.constraints[source].prefix)
        }

    def excluded(self, length: int) -> list[int]:
        """Tokens that no row may write at this length."""
        return [*self._never, self.eos_id] if length < self._min_length else self._never

    def banned_next(self, source: int, tokens: list[int]) -> set[int]:
        """The tokens that would complete a banned sequence."""
        return {
            ban[-1]
            for ban in self.constraints[source].banned
            if tokens[max(len(tokens) - len(ban) + 1, 0) :] == list(ban[:-1])
        }

    def constraint_states(
        self,
        sources: Host,
        so_far: Sequence[list[int]],
        arrays: Arrays,
        log_probabilities: Array,
        forced: dict[int, int],
    ) -> dict[int, ConstraintState]:
        """The state of each row whose source has required words."""
        states: dict[int, ConstraintState] = {}
        rows: list[int] = []
        wanted: list[int] = []
        for row, (source, tokens) in enumerate(zip(sources.tolist(), so_far, strict=True)):
            required = self.required[source]
            if required is None:
                continue
            states[row] = ConstraintState(required, tokens, self.eos_id, forced=row in forced)
            if row not in forced:
                allowed = required.wanted(states[row].progress) - self.banned_next(source, tokens)
                rows += [row] * len(allowed)
                wanted += sorted(allowed)
        if rows:
            values = arrays.host(arrays.pick(log_probabilities, np.array(rows), np.array(wanted)))
            for row, token, value in zip(rows, wanted, values.tolist(), strict=True):
                states[row].wanted[token] = max(value, IMPOSSIBLE)
        return states

    def forbid(
        self,
        arrays: Arrays,
        scores: Array,
        sources: Host,
        length: int,
        tokens: Sequence[list[int]] | None,
    ) -> None:
        """Set the scores of forbidden tokens to -inf; tokens: those already written, needed where `look_back` is true."""
        for token in self.excluded(length):
            scores[:, token] = -np.inf
        if tokens is None:
            return
        rows: list[int] = []
        columns: list[int] = []
        for row, (source, so_far) in enumerate(zip(sources.tolist(), tokens, strict=True)):
            gone = self.banned_next(source, so_far) if self._bans else set()
            if self._ngram:
                gone = gone | repeats(so_far, self._ngram)
            rows += [row] * len(gone)
            columns += gone
        if rows:
            arrays.forbid(scores, np.array(rows), np.array(columns))


def repeats(tokens: list[int], size: int) -> set[int]:
    """The tokens that would repeat an n-gram of this size.

    >>> sorted(repeats([5, 7, 5, 9, 5], size=2))
    [7, 9]
    """
    context = tokens[len(tokens) - size + 1 :] if size > 1 else []
    if len(context) < size - 1:
        return set()
    return {
        tokens[end]
        for end in range(size - 1, len(tokens))
        if tokens[end - size + 1 : end] == context
    }
