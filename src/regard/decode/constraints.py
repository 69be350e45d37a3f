"""Constraints on an output: its prefix, banned and required words, its length.

Required words follow dynamic beam allocation (Post & Vilar 2018): besides the model's best tokens, each hypothesis also
proposes the next tokens of its required words, and the slots of the beam are shared among hypotheses by how many tokens
they still need.

Differs from the paper: the progress of every word is read off the tokens, so overlapping words count correctly; and a
step that leaves less room than the missing tokens need is never taken, so the words do appear before the limit.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from regard.config import DecodeConfig, ModelConfig
from regard.decode.arrays import Array, Host, arrays_of
from regard.decode.interface import IMPOSSIBLE
from regard.errors import UsageError

Tokens = Sequence[int]
Extension = tuple[float, int, int, float]
"""a candidate of a beam: (total, row, token, log-probability of the token)"""
ConstraintProgress = tuple[int, ...]
"""number of tokens of each required word that the output ends with; all of them once it has appeared"""


@dataclass(frozen=True, slots=True)
class Constraints:
    """The constraints of one sentence, in token ids."""

    prefix: Tokens = ()  # the output begins with these; they belong to it and count in its length
    banned: Sequence[Tokens] = ()  # sequences (words of one or more tokens) that appear nowhere in the output
    required: Sequence[Tokens] = ()  # sequences that each appear somewhere in the output; beam search only
    inside: frozenset[int] = frozenset()  # tokens that go on with a word: they never follow a required sequence

    def fits(self, max_length: int) -> bool:
        """Whether the prefix and the required sequences have room in an output; 0 is no limit."""
        needed = len(self.prefix) + sum(map(len, self.required))
        return not max_length or needed <= max_length


class Required:
    """The required words of one output."""

    def __init__(self, words: Iterable[Tokens]) -> None:
        self.words: list[list[int]] = []
        # A word inside another one appears with it.
        for word in sorted((list(word) for word in words), key=len, reverse=True):
            if not any(contains(other, word) for other in self.words):
                self.words.append(word)
        self.total = sum(map(len, self.words))
        self._fallbacks = [_fallbacks(word) for word in self.words]

    @property
    def start(self) -> ConstraintProgress:
        return (0,) * len(self.words)

    def advance(self, progress: ConstraintProgress, token: int) -> ConstraintProgress:
        """The progress with one more token."""
        known = zip(self.words, self._fallbacks, progress, strict=True)
        return tuple(_advanced(word, fallback, done, token) for word, fallback, done in known)

    def need(self, progress: ConstraintProgress) -> int:
        """Tokens that surely suffice: finish the longest word begun, then write the others one by one.

        `wanted` always holds a token that lowers this by at least one.
        """
        missing = [(len(word), done) for word, done in zip(self.words, progress, strict=True) if done < len(word)]
        return sum(size for size, _ in missing) - max((done for _, done in missing), default=0)

    def wanted(self, progress: ConstraintProgress) -> set[int]:
        """The next tokens of the missing words."""
        return {word[done] for word, done in zip(self.words, progress, strict=True) if done < len(word)}


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
        model: ModelConfig,
    ) -> None:
        self.constraints = constraints or [Constraints()] * len(sources)
        self.bos_id, self.eos_id = model.bos_id, model.eos_id
        self._never = sorted({model.bos_id, model.pad_id} - {model.eos_id})
        self._min_length, self._ngram = config.min_length, config.no_repeat_ngram
        self.longest_prefix = max(len(each.prefix) for each in self.constraints)
        self.look_back = self._ngram > 0 or any(each.banned or each.inside for each in self.constraints)
        """Whether the allowed tokens depend on those already written."""
        self.required = [Required(each.required) for each in self.constraints]
        self.has_required = any(each.words for each in self.required)
        all_limits = [
            config.max_length or 2 * len(source) + 50 + len(each.prefix) + required.total
            for source, each, required in zip(sources, self.constraints, self.required, strict=True)
        ]
        self.limits = np.array(all_limits, dtype=np.int64)
        for each, required, limit in zip(self.constraints, self.required, all_limits, strict=True):
            _check(each, required, limit)

    def forced(self, log_probabilities: Array, sources: Host, length: int) -> tuple[list[int], list[int], Host]:
        """The rows still inside their prefix, their forced tokens and the tokens' log-probabilities, never -inf.

        sources: the source of each row.
        """
        if length >= self.longest_prefix:
            return [], [], np.zeros(0)
        prefixes = [self.constraints[source].prefix for source in sources.tolist()]
        rows = [row for row, prefix in enumerate(prefixes) if length < len(prefix)]
        tokens = [prefixes[row][length] for row in rows]
        return rows, tokens, _pick(log_probabilities, rows, tokens)

    def excluded(self, length: int) -> list[int]:
        """Tokens that no row may write at this length."""
        return [*self._never, self.eos_id] if length < self._min_length else self._never

    def forbid(self, scores: Array, sources: Host, length: int, written: Sequence[list[int]]) -> None:
        """Set the scores of forbidden tokens to -inf; written: the tokens so far, needed where `look_back` is true."""
        for token in self.excluded(length):
            scores[:, token] = -np.inf
        pairs: list[tuple[int, int]] = []
        for row, tokens in enumerate(written if self.look_back else ()):
            gone = self._banned_next(int(sources[row]), tokens)
            gone |= repeats(tokens, self._ngram) if self._ngram else set()
            pairs += [(row, token) for token in gone]
        if pairs:
            rows, columns = map(arrays_of(scores).integers, np.array(pairs).T)
            scores[rows, columns] = -np.inf

    def _banned_next(self, source: int, tokens: list[int]) -> set[int]:
        """The tokens that would complete a banned sequence, or go on with a required one as if it were not whole."""
        each = self.constraints[source]
        gone = {ban[-1] for ban in each.banned if tokens[max(len(tokens) - len(ban) + 1, 0) :] == list(ban[:-1])}
        ends = each.inside and any(tokens[-len(word) :] == list(word) for word in each.required)
        return gone | each.inside if ends else gone

    def wanted(
        self,
        log_probabilities: Array,
        sources: Host,
        progress: Sequence[ConstraintProgress],
        written: Sequence[list[int]],
        forced: list[int],
    ) -> dict[int, dict[int, float]]:
        """For each row with required words the next tokens of these, with their log-probabilities."""
        found: dict[int, dict[int, float]] = {}
        pairs: list[tuple[int, int]] = []
        for row, (source, each) in enumerate(zip(sources.tolist(), progress, strict=True)):
            if self.required[source].words:
                found[row] = {}
                gone = self._banned_next(source, written[row]) if self.look_back else set()
                allowed = set() if row in forced else self.required[source].wanted(each) - gone
                pairs += [(row, token) for token in sorted(allowed)]
        values = _pick(log_probabilities, [row for row, _ in pairs], [token for _, token in pairs]).tolist()
        for (row, token), value in zip(pairs, values, strict=True):
            found[row][token] = value
        return found

    def need_after(self, source: int, progress: ConstraintProgress, token: int, *, forced: bool) -> float:
        """Tokens of required words that are missing after this token; the end may only come when none is.

        forced: whether the token was, so that it is no end.
        """
        required = self.required[source]
        if token == self.eos_id and not forced:
            return math.inf if required.need(progress) else 0
        return required.need(required.advance(progress, token))


def share_slots(candidates: Iterable[tuple[float, Extension]], slots: int) -> list[Extension]:
    """Fill the slots with the best candidates of each need in turn, the least need first."""
    banks: dict[float, list[Extension]] = {}
    for need, choice in sorted(candidates, key=lambda each: -each[1][0]):
        banks.setdefault(need, []).append(choice)
    order = [banks[need] for need in sorted(banks)]
    rounds = max(map(len, order), default=0)
    dealt = [bank[turn] for turn in range(rounds) for bank in order if turn < len(bank)]
    return sorted(dealt[:slots], key=lambda choice: -choice[0])


def contains(tokens: Tokens, word: Tokens) -> bool:
    """Whether the tokens contain the word without a gap."""
    size = len(word)
    return any(list(tokens[at : at + size]) == list(word) for at in range(len(tokens) - size + 1))


def _fallbacks(word: list[int]) -> list[int]:
    """For each number of the word's tokens, how many of them begin the word again (Knuth, Morris and Pratt 1977)."""
    found = [0, 0]
    for token in word[1:]:
        found.append(_advanced(word, found, found[-1], token))
    return found


def _advanced(word: list[int], fallbacks: list[int], done: int, token: int) -> int:
    """How many tokens of the word an output ends with, which ended with `done` of them before this token."""
    if done == len(word):
        return done
    while done and word[done] != token:
        done = fallbacks[done]
    return done + (word[done] == token)


def repeats(tokens: list[int], size: int) -> set[int]:
    """The tokens that would repeat an n-gram of this size.

    >>> sorted(repeats([5, 7, 5, 9, 5], size=2))
    [7, 9]
    """
    context = tokens[len(tokens) - size + 1 :] if size > 1 else []
    if len(context) < size - 1:
        return set()
    return {tokens[end] for end in range(size - 1, len(tokens)) if tokens[end - size + 1 : end] == context}


def _pick(log_probabilities: Array, rows: list[int], tokens: list[int]) -> Host:
    """The log-probabilities of these tokens, none below IMPOSSIBLE."""
    if not rows:
        return np.zeros(0)
    arrays = arrays_of(log_probabilities)
    values = arrays.host(arrays.pick(log_probabilities, np.array(rows), np.array(tokens)))
    return np.maximum(values.astype(np.float64), IMPOSSIBLE)


def _check(each: Constraints, required: Required, limit: int) -> None:
    """Refuse what no output can meet."""
    prefix = list(each.prefix)
    if len(prefix) > limit:
        raise UsageError(
            f"a forced prefix must fit into max_length: got {len(prefix)} tokens for a limit of "
            f"{limit}; raise max_length or shorten the prefix"
        )
    for ban in each.banned:
        if contains(prefix, ban) or any(contains(word, ban) for word in each.required):
            raise UsageError(
                f"a word cannot be both banned and asked for: tokens {list(ban)} are banned but "
                "stand in the prefix or in a required word; drop one of the two"
            )
    need = required.need(reduce(required.advance, prefix, required.start))
    if len(prefix) + need > limit:
        raise UsageError(
            f"the required words must fit into max_length: got {need} tokens after a prefix of "
            f"{len(prefix)} for a limit of {limit}; raise max_length or require less"
        )
