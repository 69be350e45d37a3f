"""Pairs encoded into files once, by several processes; the order of pairs in an epoch; windows of pairs made into batches."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from regard.data.batches import Buffer, batches_of, with_ids
from regard.data.storage import Column, Mixture, Rows, chunks_of_pairs, take_texts
from regard.data.workers import Answer, answers
from regard.files import write_file
from regard.text.ragged import Ragged
from regard.text.tokenizer import Tokenizer, TokenizerBase

_INDEX = "pieces.json"
_BLOCKS_IN_A_WINDOW = 256
_WORTH_PROCESSES = 50_000  # pairs above which processes save more time than they take to start


@dataclass(frozen=True)
class Builder:
    """Makes the batches of a window; nothing else decides what is in them."""

    source_tokenizer: TokenizerBase
    target_tokenizer: TokenizerBase
    batch_tokens: int
    sampling: float
    max_length: int
    buffer: Buffer | None

    def encode(self, texts: Sequence[Sequence[str]], seed: Sequence[int]) -> tuple[Ragged, Ragged]:
        """Source sequences with their end, target sequences with beginning and end."""
        sources, targets = texts
        ends = self.target_tokenizer
        source_seed, target_seed = np.random.SeedSequence(list(seed)).generate_state(2).tolist()
        source = self._encode_side(self.source_tokenizer, sources, source_seed)
        target = self._encode_side(self.target_tokenizer, targets, target_seed)
        return source.ending_with(self.source_tokenizer.eos_id), target.beginning_with(ends.bos_id).ending_with(
            ends.eos_id
        )

    def _encode_side(self, tokenizer: TokenizerBase, texts: Sequence[str], seed: int) -> Ragged:
        if not self.sampling or not isinstance(tokenizer, Tokenizer):
            return Ragged.of(tokenizer.encode_inputs(texts, num_threads=-1))
        sampled = tokenizer.sample(texts, self.sampling, seed)
        too_long = np.flatnonzero(sampled.lengths > self.max_length)
        if not len(too_long):
            return sampled
        # Pairs are admitted by their plain length; it replaces a segmentation that is too long.
        plain = Ragged.of(tokenizer.encode_batch([texts[row] for row in too_long.tolist()]))
        rows = np.arange(len(sampled))
        rows[too_long] = len(sampled) + np.arange(len(plain))
        return Ragged.joined([sampled, plain]).take(rows)

    def build(self, message: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The fields of the batches of a window, which is texts or tokens, and a seed."""
        if "texts" in message:
            source, target = self.encode(message["texts"], message["seed"])
        else:
            source, target = (Ragged(**side) for side in message["tokens"])
        made: Any = {"batch_tokens": self.batch_tokens, "buffer": self.buffer, "pad_id": self.target_tokenizer.pad_id}
        batches = batches_of(source, target, seed=message["seed"], **made)
        return [vars(with_ids(batch, np.int32)) for batch in batches]

    def to_message(self) -> dict[str, Any]:
        """For a worker; a tokenizer of another program stays as it is, for this process alone."""
        own = {name: each for name, each in vars(self).items() if isinstance(each, Tokenizer)}
        protos = {name: np.frombuffer(each.proto, np.uint8) for name, each in own.items()}
        return {**vars(self), **protos, "buffer": self.buffer and vars(self.buffer)}

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> Self:
        for name in ("source_tokenizer", "target_tokenizer"):
            if isinstance(message[name], np.ndarray):
                message[name] = Tokenizer(message[name].tobytes())
        if message["buffer"] is not None:
            message["buffer"] = Buffer(**message["buffer"])
        return cls(**message)


def build_worker(first: dict[str, Any]) -> Answer:
    """In a worker process: windows in, batches out."""
    return Builder.from_message(first).build


def encode_worker(first: dict[str, Any]) -> Answer:
    """In a worker process: texts of both sides in, tokens out."""
    builder = Builder.from_message(first)
    return lambda sides: [vars(tokens) for tokens in builder.encode(sides, [0])]


@dataclass
class Facts:
    """Figures of an encoded corpus."""

    key: int  # checksum of the tokenizers and settings it was made with
    num_read: int = 0
    source_longest: int = 0
    target_longest: int = 0
    """tokens of the longest sequence kept"""
    checksum: int = 0  # checksum of every text and every length


class EncodedPairs:
    """The pairs of a corpus that are short enough: their texts and, without sampling, their tokens in files."""

    def __init__(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        builder: Builder,
        folder: Path,
        *,
        keeps_tokens: bool,
        num_processes: int = 1,
    ) -> None:
        """Encode into a folder, or open what was encoded there with the same tokenizers and settings.

        A folder is of one corpus: it must be emptied for another.
        """
        self._texts, self.keeps_tokens = (sources, targets), keeps_tokens
        key = zlib.crc32(repr((builder.max_length, keeps_tokens, len(targets))).encode())
        for tokenizer in (builder.source_tokenizer, builder.target_tokenizer):
            key = zlib.crc32(tokenizer.proto if isinstance(tokenizer, Tokenizer) else b"", key)
        index = folder / _INDEX
        self.facts = Facts(**json.loads(index.read_bytes())) if index.exists() else Facts(-1)
        is_new = self.facts.key != key
        if is_new:
            index.unlink(missing_ok=True)
            self.facts = Facts(key)
        self._kept = Column(folder / "short", np.int64, new=is_new)
        self._columns = []
        for side in ("source", "target") if keeps_tokens else ():
            ids = Column(folder / f"{side}.pieces", np.int32, new=is_new)
            self._columns.append((ids, Column(folder / f"{side}.offsets", np.int64, new=is_new)))
        if is_new:
            self._encode_all(builder, num_processes)
            write_file(index, json.dumps(vars(self.facts)).encode())

    def __len__(self) -> int:
        return len(self._kept)

    def mixed(self, mixture: Mixture | None) -> Mixture:
        """The mixture of the pairs that are here; without one, each comes once in an epoch."""
        return Mixture([0, len(self)], [1]) if mixture is None else mixture.within(self._kept)

    def texts(self, places: Rows) -> tuple[list[str], list[str]]:
        """Both sides of some pairs."""
        rows = self._kept.take(places)
        sources, targets = self._texts
        return take_texts(sources, rows), take_texts(targets, rows)

    def tokens(self, places: Rows) -> list[Ragged]:
        """Both sides of some pairs as the sequences that a model sees."""
        return [Ragged(ids.map(), offsets.map()).take(places) for ids, offsets in self._columns]

    def _encode_all(self, builder: Builder, num_processes: int) -> None:
        of_texts, of_lengths = [0, 0], [0, 0]

        def chunks() -> Iterator[Sequence[Sequence[str]]]:
            for _, *sides in chunks_of_pairs(*self._texts):
                for number, texts in enumerate(sides):
                    joined = "".join(f"{text}\n" for text in texts)
                    of_texts[number] = zlib.crc32(joined.encode("utf-8", "surrogatepass"), of_texts[number])
                yield sides

        if len(self._texts[1]) < _WORTH_PROCESSES or not isinstance(builder.target_tokenizer, Tokenizer):
            num_processes = 1
        for _, offsets in self._columns:
            offsets.extend(np.zeros(1, np.int64))
        for found in answers(encode_worker, builder.to_message(), chunks(), num_processes):
            sides = [Ragged(**side) for side in found]
            self._add(sides, builder.max_length)
            for number, side in enumerate(sides):
                of_lengths[number] = zlib.crc32(side.lengths.tobytes(), of_lengths[number])
        self.facts.checksum = zlib.crc32(repr((of_texts, of_lengths)).encode())
        self._kept.flush()
        for ids, offsets in self._columns:
            ids.flush()
            offsets.flush()

    def _add(self, sides: Sequence[Ragged], max_length: int) -> None:
        facts = self.facts
        source_lengths, target_lengths = sides[0].lengths, sides[1].lengths - 1
        fits = np.flatnonzero(np.maximum(source_lengths, target_lengths) <= max_length + 1)
        self._kept.extend(facts.num_read + fits)
        facts.num_read += len(target_lengths)
        if not len(fits):
            return
        facts.source_longest = max(facts.source_longest, int(source_lengths[fits].max()))
        facts.target_longest = max(facts.target_longest, int(target_lengths[fits].max()))
        for (ids, offsets), side in zip(self._columns, sides, strict=False):
            short = side.take(fits)
            offsets.extend(len(ids) + short.offsets[1:])
            ids.extend(short.ids)


class Order:
    """The order of the pairs of a corpus: shuffled anew each epoch, the same from the same seed; each pair comes once.

    A corpus of at most `window` pairs is shuffled as a whole. In a larger one, blocks of neighbouring pairs are shuffled,
    and then the pairs within a window of 256 blocks. Only the indices of one window, and a number for each block, lie in
    memory.
    """

    def __init__(self, num_pairs: int, seed: int, window: int) -> None:
        self._seed = seed
        self._num_windows = max(1, round(num_pairs / window)) if num_pairs > window else 1
        num_blocks = self._num_windows * _BLOCKS_IN_A_WINDOW if self._num_windows > 1 else 1
        self._bounds = np.arange(num_blocks + 1) * num_pairs // num_blocks
        self._last: tuple[tuple[int, int], Rows] | None = None

    def rows(self, epoch: int, start: int, stop: int) -> Rows:
        """The pairs at positions start to stop of an epoch."""
        if self._num_windows == 1:
            return self._window(epoch, 0, np.zeros((1, 1), np.int64))[start:stop]
        blocks = np.random.default_rng([self._seed, epoch]).permutation(len(self._bounds) - 1)
        blocks = blocks.reshape(self._num_windows, _BLOCKS_IN_A_WINDOW)
        lengths = np.diff(self._bounds)[blocks].sum(axis=1)
        starts = np.cumsum(lengths) - lengths
        first, last = np.searchsorted(starts, [start, stop - 1], side="right") - 1
        parts = [
            self._window(epoch, window, blocks)[max(start - begin, 0) : stop - begin]
            for window, begin in enumerate(starts.tolist())
            if first <= window <= last
        ]
        return np.concatenate(parts)

    def _window(self, epoch: int, window: int, blocks: Rows) -> Rows:
        # Positions come in order, so the last window is nearly always the one.
        held = self._last
        if held is None or held[0] != (epoch, window):
            bounds = self._bounds
            pairs = [np.arange(bounds[block], bounds[block + 1]) for block in blocks[window]]
            numbers = (epoch, window) if self._num_windows > 1 else (epoch,)
            rows = np.random.default_rng([self._seed, *numbers]).permutation(np.concatenate(pairs))
            held = self._last = ((epoch, window), rows)
        return held[1]
