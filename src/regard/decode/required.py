"""Lexically constrained decoding: words that must appear in the output.

Dynamic beam allocation (Post & Vilar 2018): besides the model's best tokens, each hypothesis also proposes the next
tokens of its required words, and the slots of the beam are shared among hypotheses by how many tokens they still need.

Differs from the paper: the progress of every word is read off the tokens, so overlapping words count correctly; and a
step that leaves less room than the missing tokens need is never taken, so the words do appear before the limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

INFEASIBLE = 1 << 60
"""a need that no output has room for"""

Progress = tuple[int, ...]
"""for each word how many of its tokens the output ends with; all of them once it has appeared"""


def contains(tokens: Sequence[int], word: Sequence[int]) -> bool:
    """Whether the tokens contain the word without a gap."""
    size = len(word)
    return any(list(tokens[at : at + size]) == list(word) for at in range(len(tokens) - size + 1))


class Required:
    """The required words of one output."""

    def __init__(self, words: Iterable[Sequence[int]]) -> None:
        self.words: list[list[int]] = []
        # A word inside another one appears with it.
        for word in sorted((list(word) for word in words), key=len, reverse=True):
            if not any(contains(other, word) for other in self.words):
                self.words.append(word)
        self.total = sum(map(len, self.words))

    def progress(self, tokens: list[int]) -> Progress:
        return tuple(
            len(word) if contains(tokens, word) else _overlap(tokens, word) for word in self.words
        )

    def advance(self, progress: Progress, tokens: list[int]) -> Progress:
        """The progress with these tokens, where `progress` is that without the last of them."""
        return tuple(
            done if done == len(word) else _overlap(tokens, word)
            for word, done in zip(self.words, progress, strict=True)
        )

    def need(self, progress: Progress) -> int:
        """Tokens that surely suffice: finish the longest word begun, then write the others one by one.

        `wanted` always holds a token that lowers this by at least one.
        """
        missing = [
            (len(word), done)
            for word, done in zip(self.words, progress, strict=True)
            if done < len(word)
        ]
        return sum(size for size, _ in missing) - max((done for _, done in missing), default=0)

    def wanted(self, progress: Progress) -> set[int]:
        """The next tokens of the missing words."""
        return {
            word[done] for word, done in zip(self.words, progress, strict=True) if done < len(word)
        }


def _overlap(tokens: list[int], word: list[int]) -> int:
    """How many tokens of the word the tokens end with."""
    longest = min(len(word), len(tokens))
    return next((size for size in range(longest, 0, -1) if tokens[-size:] == word[:size]), 0)


@dataclass(frozen=True, slots=True)
class Extension:
    """One possible next token of one row of the beam."""

    row: int
    token: int
    log_probability: float
    total: float
    """log-probability of the hypothesis with this token"""
    need: int
    """tokens of required words that would still be missing"""


def share_slots(candidates: Iterable[Extension], slots: int) -> list[Extension]:
    """Fill the slots with the best of each need in turn, the least need first."""
    banks: dict[int, list[Extension]] = {}
    for candidate in sorted(candidates, key=lambda each: -each.total):
        banks.setdefault(candidate.need, []).append(candidate)
    order = [banks[need] for need in sorted(banks)]
    rounds = max(map(len, order), default=0)
    dealt = [bank[turn] for turn in range(rounds) for bank in order if turn < len(bank)]
    return sorted(dealt[:slots], key=lambda each: -each.total)


@dataclass(slots=True)
class ConstraintState:
    """The progress of one hypothesis through its required words."""

    required: Required
    tokens: list[int]
    eos_id: int
    forced: bool
    """whether the next token is part of a forced prefix"""
    progress: Progress = field(init=False)
    wanted: dict[int, float] = field(default_factory=dict)
    """log-probabilities of the next tokens of its words"""

    def __post_init__(self) -> None:
        self.progress = self.required.progress(self.tokens)

    def extensions(
        self, index: int, total: float, values: list[float], tokens: list[int], room: int
    ) -> Iterator[Extension]:
        """The best tokens and the wanted ones after which the rest still fits into the room."""
        best = {
            token: value for token, value in zip(tokens, values, strict=True) if value > -math.inf
        }
        for token, value in {**best, **self.wanted}.items():
            need = self._need_after(token)
            if need <= room or self.forced:
                yield Extension(index, token, value, total + value, need)

    def _need_after(self, token: int) -> int:
        """Tokens missing after this one; the end may only come when none is."""
        required = self.required
        if token == self.eos_id and not self.forced:
            return INFEASIBLE if required.need(self.progress) else 0
        return required.need(required.advance(self.progress, [*self.tokens, token]))
