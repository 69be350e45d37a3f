"""Lexically constrained decoding: words that must appear in the output.

Dynamic beam allocation (Post & Vilar 2018): besides the model's own favourites, each hypothesis also
proposes what brings a required word forward, and the slots of the beam are dealt out evenly among
hypotheses that have done equally much of their duty.

Differs from the paper: duty is read off the tokens with one prefix automaton per word (Knuth-Morris-Pratt),
so overlapping words count correctly; and a step that would leave less room than the missing tokens need is
never taken, so the words do appear before the limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Progress = tuple[int, ...]
"""For each word how many of its tokens the output ends with; all of them once it has appeared."""


def contains(tokens: Sequence[int], word: Sequence[int]) -> bool:
    """Whether the word stands in the tokens, in one piece."""
    size = len(word)
    return any(list(tokens[at : at + size]) == list(word) for at in range(len(tokens) - size + 1))


class Required:
    """The words that one output must contain."""

    def __init__(self, words: Iterable[Sequence[int]]) -> None:
        kept: list[list[int]] = []
        # A word inside another one, or given twice, appears by itself.
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
        """So many tokens surely suffice: finish the word begun, then write the others one by one.

        `wanted` always holds a token that lowers this by at least one.
        """
        missing = [
            (len(word), done)
            for word, done in zip(self.words, progress, strict=True)
            if done < len(word)
        ]
        return sum(size for size, _ in missing) - max((done for _, done in missing), default=0)

    def wanted(self, progress: Progress) -> set[int]:
        """The tokens that bring a missing word forward."""
        return {
            word[done] for word, done in zip(self.words, progress, strict=True) if done < len(word)
        }


def _borders(word: list[int]) -> list[int]:
    """For each beginning of the word, the longest shorter beginning that it also ends with."""
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
class Candidate:
    """One possible next token of one row of the beam."""

    row: int
    token: int
    log_probability: float
    total: float
    """log-probability of the whole hypothesis with this token"""
    need: int


def deal(candidates: Iterable[Candidate], slots: int) -> list[Candidate]:
    """Fill the slots with the best of each need in turn, the least need first."""
    banks: dict[int, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda each: -each.total):
        banks.setdefault(candidate.need, []).append(candidate)
    order = [banks[need] for need in sorted(banks)]
    rounds = max(map(len, order), default=0)
    dealt = [bank[turn] for turn in range(rounds) for bank in order if turn < len(bank)]
    return sorted(dealt[:slots], key=lambda each: -each.total)
