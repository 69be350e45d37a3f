"""How large a recorded search is made: a few usual shapes serve for all, within the memory there is."""

from __future__ import annotations

from dataclasses import dataclass

from regard.config import DecodeConfig, ModelConfig


@dataclass(frozen=True)
class Shape:
    """What a recorded search is made for."""

    num_sentences: int
    """room for so many in the queue"""
    num_slots: int
    beam: int
    n_best: int
    source_len: int
    max_len: int
    """longer by one than the longest output: the step that ends it has a place too"""
    min_length: int
    no_repeat_ngram: int

    @property
    def num_rows(self) -> int:
        return self.num_slots * self.beam


@dataclass(frozen=True)
class Room:
    """How much is worked on at the same time."""

    rows: int = 1024
    """of all slots together: more of them share the cost of a step"""
    sentences: int = 4096
    """that are read before the first of them is written"""
    source_tokens: int = 16384
    """that are read at once, padding included"""
    memory: int = 4 << 30
    """bytes for the keys and values of the sources, and as many for those of the outputs"""
    kept: int = 4
    """recorded searches, each with its memory"""

    def shape(
        self,
        model: ModelConfig,
        itemsize: int,
        config: DecodeConfig,
        *,
        count: int,
        source_len: int,
        limit: int,
    ) -> Shape:
        """The smallest usual shape for `count` sources, or for as many of them as memory allows.

        itemsize: bytes of a number of the model; limit: tokens of the longest output.
        """
        beam = config.beam if config.method == "beam" else 1
        bytes_per_token = 2 * model.num_decoder_layers * model.d_model * itemsize
        source_len, max_len = _at_least(source_len, 32), _at_least(limit + 1, 64)
        num_sentences = min(
            _at_least(count),
            self.sentences,
            max(_at_most(self.memory // (bytes_per_token * source_len)), 1),
        )
        num_rows = min(self.rows, _at_most(self.memory // (bytes_per_token * max_len)))
        return Shape(
            num_sentences=num_sentences,
            num_slots=min(num_sentences, max(num_rows // beam, 1)),
            beam=beam,
            n_best=min(config.n_best, beam),
            source_len=source_len if model.has_encoder else 0,
            max_len=max_len,
            min_length=config.min_length,
            no_repeat_ngram=config.no_repeat_ngram,
        )

    def batch(self, count: int, source_len: int) -> int:
        """How many of `count` sources of this length are read at once."""
        return min(_at_least(count), max(self.source_tokens // source_len, 1))


def _at_least(count: int, least: int = 1) -> int:
    """The next power of two."""
    return max(1 << (count - 1).bit_length(), least) if count > 0 else least


def _at_most(count: int) -> int:
    """The power of two before it."""
    return 1 << (count.bit_length() - 1) if count > 0 else 0
