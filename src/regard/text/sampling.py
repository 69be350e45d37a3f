"""Subword regularisation: another random segmentation of a text each time, the same from the same seed.

One way for each kind of vocabulary:

- BPE-dropout (Provilkov et al. 2020, algorithm 1): each time the best merge of a word is chosen, every
  possible merge is left out with probability alpha.
- Unigram (Kudo 2018, eq. 8 with l = infinity): a segmentation is drawn with probability proportional to
  (product of its tokens' probabilities) ** alpha, by summing over the lattice and drawing along it.

SentencePiece can do both, but its random numbers differ from process to process whatever the seed, so
a resumed run would see other text; and it skips a merge for good where the paper skips it once. Here all words are
drawn side by side in NumPy. No token crosses a space, so words are independent.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.text.ragged import Ragged
from regard.text.tokenizer import SPACE_MARK

_NO_MERGE = np.int32(2**31 - 1)
_WORDS_AT_ONCE = 1 << 15
_CHARACTERS_AT_ONCE = 1 << 18

Ids = NDArray[np.int32]
Places = NDArray[np.int64]


class Sampler:
    """Draws segmentations with the tokens of one vocabulary."""

    def __init__(self, processor: Any) -> None:
        """`processor` is SentencePiece's."""
        self._ids: dict[str, int] = {}
        byte_ids: dict[int, int] = {}
        for id in range(processor.vocab_size()):
            token = processor.id_to_piece(id)
            if processor.is_byte(id):
                byte_ids[int(token[3:5], 16)] = id
            elif not (processor.is_control(id) or processor.is_unknown(id)):
                self._ids[token] = id
        self._scores = np.array([processor.get_score(id) for id in range(processor.vocab_size())])
        self._characters = {token for token in self._ids if len(token) == 1}
        # A byte of a character without a token is written as a surrogate, which no text holds.
        self._ids |= {chr(0xDC00 + byte): id for byte, id in byte_ids.items()}
        self._longest = max(map(len, self._ids))
        # The score of a BPE token is its negative rank, that of a unigram token a log-probability.
        learnt = [id for token, id in self._ids.items() if len(token) > 1]
        self._is_bpe = bool((self._scores[learnt] == np.round(self._scores[learnt])).all())
        if self._is_bpe:
            self._learn_merges(sorted(learnt, key=lambda id: (-self._scores[id], id)))

    def sample(self, texts: Sequence[str], alpha: float, seed: int) -> Ragged:
        """A segmentation of each text, drawn with the seed."""
        numbers: dict[str, int] = {}
        flat: list[int] = []
        num_words = np.zeros(len(texts), np.int64)
        for row, text in enumerate(texts):
            if text:
                words = text.split(" ")
                num_words[row] = len(words)
                flat += [numbers.setdefault(word, len(numbers)) for word in words]
        tokens = self._sample_words(list(numbers), np.array(flat, np.int64), alpha, seed)
        return Ragged(tokens.ids, tokens.offsets[np.concatenate([[0], np.cumsum(num_words)])])

    def _sample_words(self, words: list[str], occurrences: Places, alpha: float, seed: int) -> Ragged:
        generator = np.random.default_rng(seed)
        spelled = [self._spell(SPACE_MARK + word) for word in words]
        lengths = np.fromiter(map(len, spelled), np.int64, len(spelled))
        draw = self._draw_bpe if self._is_bpe else self._draw_unigram
        # Words of like length are drawn together, with little padding.
        order = np.argsort(lengths[occurrences], kind="stable")
        drawn_lengths = np.zeros(len(occurrences), np.int64)
        parts = [np.zeros(0, np.int32)]
        for rows in _blocks(order, lengths[occurrences[order]]):
            distinct, which = np.unique(occurrences[rows], return_inverse=True)
            ids = draw([spelled[number] for number in distinct], which, alpha, generator)
            drawn_lengths[rows] = (ids >= 0).sum(axis=1)
            parts.append(ids[ids >= 0])
        drawn = Ragged.of_lengths(np.concatenate(parts), drawn_lengths[order])
        return drawn.take(np.argsort(order))

    def _spell(self, word: str) -> str:
        if self._characters.issuperset(word):
            return word
        return "".join(
            character if character in self._characters else "".join(chr(0xDC00 + byte) for byte in character.encode())
            for character in word
        )

    def _learn_merges(self, best_first: list[int]) -> None:
        """Every pair of tokens that merges into a token, as sorted keys, and the rank of that token."""
        self._made = np.array(best_first, np.int32)
        ranks = {id: rank for rank, id in enumerate(best_first)}
        found = sorted(
            (self._ids[token[:cut]] * len(self._scores) + self._ids[token[cut:]], ranks[id])
            for token, id in self._ids.items()
            for cut in range(1, len(token))
            if token[:cut] in self._ids and token[cut:] in self._ids
        )
        # The last key is larger than any pair: a search always finds one.
        self._keys = np.array([key for key, _ in found] + [2**62], np.int64)
        self._ranks = np.array([rank for _, rank in found] + [_NO_MERGE], np.int32)

    def _merge_ranks(self, left: Ids, right: Ids) -> Ids:
        keys = left.astype(np.int64) * len(self._scores) + right
        places = np.searchsorted(self._keys, keys)
        possible = (self._keys[places] == keys) & (left >= 0) & (right >= 0)
        return np.where(possible, self._ranks[places], _NO_MERGE)

    def _draw_bpe(self, words: list[str], which: Places, alpha: float, generator: np.random.Generator) -> Ids:
        """The tokens of each occurrence in a row, -1 after the last."""
        distinct = np.full((len(words), max(map(len, words))), -1, np.int32)
        for row, word in enumerate(words):
            distinct[row, : len(word)] = [self._ids[character] for character in word]
        ranks = self._merge_ranks(distinct[:, :-1], distinct[:, 1:])[which]
        symbols = distinct[which]
        finished = np.full_like(symbols, -1)
        rows = np.arange(len(which))
        while symbols.shape[1] > 1:
            left_out = generator.random(ranks.shape, np.float32) < alpha
            candidates = np.where(left_out, _NO_MERGE, ranks)
            place = candidates.argmin(axis=1)
            best = candidates[np.arange(len(rows)), place]
            merges = best != _NO_MERGE
            finished[rows[~merges], : symbols.shape[1]] = symbols[~merges]
            rows, place, best = rows[merges], place[merges], best[merges]
            symbols, ranks = self._merge(symbols[merges], ranks[merges], place, self._made[best])
        finished[rows, : symbols.shape[1]] = symbols
        return finished

    def _merge(self, symbols: Ids, ranks: Ids, place: Places, made: Ids) -> tuple[Ids, Ids]:
        """Put the merged tokens at their places, close the gaps, and look up the merges with their new neighbours."""
        every = np.arange(len(place))
        columns = np.arange(symbols.shape[1] - 1)
        after = columns > place[:, None]
        symbols[every, place] = made
        symbols = np.where(after, symbols[:, 1:], symbols[:, :-1])
        if symbols.shape[1] == 1:
            return symbols, ranks[:, :0]
        ranks = np.where(after[:, :-1], ranks[:, 1:], ranks[:, :-1])
        for column in (place - 1, place):
            rows = np.flatnonzero((column >= 0) & (column < symbols.shape[1] - 1))
            left = column[rows]
            ranks[rows, left] = self._merge_ranks(symbols[rows, left], symbols[rows, left + 1])
        return symbols, ranks

    def _draw_unigram(self, words: list[str], which: Places, alpha: float, generator: np.random.Generator) -> Ids:
        """The tokens of each occurrence in a row, -1 after the last."""
        num_places = max(map(len, words))
        # edges[word, place, n - 1] is the token of n characters at a place, or -1.
        edges = np.full((len(words), num_places, min(num_places, self._longest)), -1, np.int32)
        for row, word in enumerate(words):
            for place in range(len(word)):
                for size in range(1, min(len(word) - place, self._longest) + 1):
                    edges[row, place, size - 1] = self._ids.get(word[place : place + size], -1)
        # rest[:, i] is the log of the summed weight of all ways from place i to the word's end.
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        rest = np.full((len(words), num_places + self._longest + 1), -np.inf)
        rest[np.arange(len(words)), lengths] = 0.0
        weights = np.where(edges >= 0, alpha * self._scores[edges], -np.inf)
        for place in range(num_places - 1, -1, -1):
            ways = weights[:, place] + rest[:, place + 1 : place + 1 + edges.shape[2]]
            weights[:, place] = ways
            total = np.logaddexp.reduce(ways, axis=1)
            rest[:, place] = np.where(place < lengths, total, rest[:, place])
        drawn = np.full((len(which), num_places), -1, np.int32)
        at = np.zeros(len(which), np.int64)
        rows = np.arange(len(which))
        for step in range(num_places):
            rows = rows[at[rows] < lengths[which[rows]]]
            now = (which[rows], at[rows])
            chances = np.cumsum(np.exp(weights[now] - rest[now][:, None]), axis=1)
            chosen = (chances < generator.random(len(rows))[:, None] * chances[:, -1:]).sum(axis=1)
            drawn[rows, step] = edges[(*now, chosen)]
            at[rows] += chosen + 1
        return drawn


def _blocks(order: Places, lengths: Places) -> Iterator[Places]:
    """Cut words, in ascending order of length, into blocks that take little memory when padded."""
    start = 0
    while start < len(order):
        padded = lengths[start : start + _WORDS_AT_ONCE]
        padded = padded * np.arange(1, len(padded) + 1)
        stop = start + max(1, int(np.searchsorted(padded, _CHARACTERS_AT_ONCE, side="right")))
        yield order[start:stop]
        start = stop
