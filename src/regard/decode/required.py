"""Lexically constrained decoding: words that must appear in the output.

Dynamic beam allocation (Post & Vilar 2018): besides the model's best tokens, each hypothesis also proposes the next
tokens of its required words, and the slots of the beam are shared among hypotheses by how many tokens they still need.

Differs from the paper: one prefix automaton per word (Knuth-Morris-Pratt) reads the progress off the tokens, so
overlapping words count correctly; and a step that leaves less room than the missing tokens need is never taken, so the
words do appear before the limit.
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
        kept: list[list[int]] = []
        # A word inside another one appears with it.
        for word in sorted((list(word) for word in words), key=len, reverse=True):
            if not any(contains(other, word) for other in kept):
                kept.append(word)
        self.words = kept
        self._borders = [_borders(word) for word in kept]
        self.total = sum(map(len, kept))

    def after(self, tokens: Iterable[int]) -> Progress:
        progress: Progress = (0,) * len(self.words)
        for token in tokens:
            progress = self.advance(progress, token)
        return progress

    def advance(self, progress: Progress, token: int) -> Progress:
        return tuple(
            _advance(word, borders, done, token)
            for word, borders, done in zip(self.words, self._borders, progress, strict=True)
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


def _borders(word: list[int]) -> list[int]:
    """For each prefix of the word, the longest shorter prefix that it also ends with."""
    borders = [0, 0]
    for token in word[1:]:
        done = borders[-1]
        while done and word[done] != token:
            done = borders[done]
        borders.append(done + (word[done] == token))
    return borders


def _advance(word: list[int], borders: list[int], done: int, token: int) -> int:
    if done == len(word):
        return done
    while done and word[done] != token:
        done = borders[done]
    return done + (word[done] == token)


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
    progress: Progress
    eos_id: int
    forced: bool
    """whether the next token is part of a forced prefix"""
    wanted: dict[int, float] = field(default_factory=dict)
    """log-probabilities of the next tokens of its words"""

    def extensions(
        self, index: int, total: float, values: list[float], tokens: list[int], room: int
    ) -> Iterator[Extension]:
        """The best tokens and the wanted ones after which the rest still fits into the room."""
        proposed = {
            token: value for token, value in zip(tokens, values, strict=True) if value > -math.inf
        }
        for token, value in {**proposed, **self.wanted}.items():
            need = self._need_after(token)
            if need <= room or self.forced:
                yield Extension(index, token, value, total + value, need)

    def _need_after(self, token: int) -> int:
        """Tokens missing after this one; the end may only come when none is."""
        if token == self.eos_id and not self.forced:
            return 0 if self.required.need(self.progress) == 0 else INFEASIBLE
        return self.required.need(self.required.advance(self.progress, token))
