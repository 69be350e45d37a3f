"""How to search for an output: beam search, sampling, and what chat and write add."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from regard.config.fields import (
    FRACTION,
    HYPOTHESES,
    NOT_NEGATIVE,
    POSITIVE,
    WITHIN_10,
    at_most,
    check,
    check_choices,
)
from regard.errors import UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodeConfig:
    """How to search for an output."""

    method: Literal["beam", "greedy", "sample"] = "beam"
    """beam search, the single best token each time (greedy), or sampling"""
    beam: int = 4
    """hypotheses kept alive, at most 256 (the paper: 4)"""
    length_penalty: float = 0.6
    """alpha: scores are divided by ((5 + length) / 6) ** alpha (the paper: 0.6)"""
    coverage_penalty: float = 0.0
    """beta: rewards hypotheses that have attended to the whole source (Wu et al. 2016, eq. 14)"""
    n_best: int = 1
    """texts returned for each input, all different unless sampled; at most beam, which widens to it if not given"""
    max_length: int = 0
    """longest output in tokens; 0 means input length * 2 + 50 (for an input of n tokens)"""
    min_length: int = 0
    """tokens before the end may come"""
    no_repeat_ngram: int = 0
    """no n-gram of this size appears twice in one output; 0 turns it off"""
    temperature: float = 1.0
    """sampling: below 1 sharper, above 1 flatter; at most 2"""
    top_k: int = 0
    """sampling: only the k most probable tokens; 0 means all"""
    top_p: float = 1.0
    """sampling: only the smallest set with this much probability"""
    presence_penalty: float = 0.0
    """sampling: taken from the score of every token that was written before; a prompt's own tokens are not counted"""
    frequency_penalty: float = 0.0
    """sampling: the same, as often as the token was written"""
    seed: int | None = None
    """sampling: the same seed gives the same text"""

    def __post_init__(self) -> None:
        check_choices(self)
        check(self, POSITIVE, "beam", "n_best", "temperature")
        check(self, HYPOTHESES, "n_best", "beam")
        check(self, FRACTION, "top_p")
        if self.top_p == 0:
            raise UsageError("top_p must be above 0: got 0; use top_k=1 for the single best token")
        check(self, NOT_NEGATIVE, "max_length", "min_length", "no_repeat_ngram", "top_k", "seed")
        check(self, NOT_NEGATIVE, "coverage_penalty", "presence_penalty", "frequency_penalty")
        check(self, at_most(2), "temperature", "presence_penalty", "frequency_penalty")
        check(self, at_most(10), "coverage_penalty")
        check(self, WITHIN_10, "length_penalty")
        if self.method == "beam" and self.n_best > self.beam:
            raise UsageError(
                f"n_best must be at most beam: got n_best={self.n_best}, beam={self.beam}; "
                "raise beam or lower n_best"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateConfig:
    """How chat and write use the search."""

    best_of: int = 1
    """write, sampling: continuations started side by side; the most probable one is continued"""
    context_weight: float = 0.0
    """write, sampling: weight of the prompt in context-aware decoding (Shi et al. 2023); takes twice the time"""
    min_probability: float = 0.0
    """chat: below this probability of its tokens (geometric mean) a reply is replaced by "I am not sure", in English; 0 turns it off"""

    def __post_init__(self) -> None:
        check(self, POSITIVE, "best_of")
        check(self, HYPOTHESES, "best_of")
        check(self, NOT_NEGATIVE, "context_weight")
        check(self, at_most(10), "context_weight")
        check(self, FRACTION, "min_probability")


MOVED = {
    "attempts": "best_of",
    "prompt_strength": "context_weight",
    "least_probability": "min_probability",
}
"""settings that older versions kept in [decode], with their names in [generate]"""


def with_generate_section(sections: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of a recipe, run or model folder with MOVED settings in their present place.

    >>> with_generate_section({"decode": {"beam": 4, "attempts": 12}})
    {'decode': {'beam': 4}, 'generate': {'best_of': 12}}
    """
    found = dict(sections)
    decode, generate = found.get("decode"), found.get("generate", {})
    if isinstance(decode, Mapping) and isinstance(generate, Mapping):
        moved = {MOVED[key]: value for key, value in decode.items() if key in MOVED}
        found["decode"] = {key: value for key, value in decode.items() if key not in MOVED}
        found["generate"] = {**moved, **generate}
    return found
