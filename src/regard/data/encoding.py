"""Pairs encoded into files once, by several processes, and windows of pairs made into batches."""

from __future__ import annotations

import dataclasses
import itertools
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from regard.data.batches import Batch, Buffer, batches_of
from regard.data.storage import Column, Rows, chunks_of_pairs, taken
from regard.data.workers import (
    SIDES,
    Arrays,
    Message,
    Workers,
    serve,
    texts_from_arrays,
    texts_to_arrays,
    tokens_from_arrays,
    tokens_to_arrays,
)
from regard.files import write_file
from regard.text.ragged import Ragged
from regard.text.tokenizer import BOS_ID, EOS_ID, Tokenizer

_INDEX = "pieces.json"
_WORTH_PROCESSES = 50_000
"""pairs above which processes save more time than they take to start"""


@dataclass
class Facts:
    """Figures of an encoded corpus."""

    key: int
    """checksum of the tokenizers and settings it was made with"""
    num_read: int = 0
    source_longest: int = 0
    target_longest: int = 0
    """tokens of the longest sequence kept"""
    checksum: int = 0
    """checksum of every text and every length"""


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
        self._texts = (sources, targets)
        self._index, self.keeps_tokens = folder / _INDEX, keeps_tokens
        key = zlib.crc32(repr((builder.max_length, keeps_tokens, len(targets))).encode())
        for tokenizer in (builder.source_tokenizer, builder.target_tokenizer):
            key = zlib.crc32(tokenizer.proto if tokenizer else b"", key)
        self.facts = Facts(key)
        known = Facts(**json.loads(self._index.read_bytes())) if self._index.exists() else None
        exists = known is not None and known.key == key
        if not exists:
            self._index.unlink(missing_ok=True)
        self._kept = Column(folder / "short", np.int64, existing=exists)
        self._columns = [
            (
                Column(folder / f"{side}.pieces", np.int32, existing=exists),
                Column(folder / f"{side}.offsets", np.int64, existing=exists),
            )
            for side in SIDES
            if keeps_tokens
        ]
        if known is not None and exists:
            self.facts = known
        else:
            self._make(builder, num_processes)

    def __len__(self) -> int:
        return len(self._kept)

    def texts(self, places: Rows) -> tuple[list[str], list[str]]:
        """Both sides of some pairs."""
        rows = self._kept.take(places)
        sources, targets = self._texts
        return taken(sources, rows) if len(sources) else [], taken(targets, rows)

    def tokens(self, places: Rows) -> tuple[Ragged, Ragged]:
        """Both sides of some pairs as the sequences that a model sees."""
        source, target = (
            Ragged(side[0].map(), side[1].map()).take(places) for side in self._columns
        )
        return source, target

    def _make(self, builder: Builder, num_processes: int) -> None:
        for _, offsets in self._columns:
            offsets.extend(np.zeros(1, np.int64))
        of_texts, of_lengths = [0, 0], [0, 0]
        for source, target in self._encode(builder, of_texts, num_processes):
            self._add(source, target, builder.max_length)
            for number, lengths in enumerate((source.lengths, target.lengths)):
                of_lengths[number] = zlib.crc32(lengths.tobytes(), of_lengths[number])
        self.facts.checksum = zlib.crc32(repr((of_texts, of_lengths)).encode())
        for column in (self._kept, *itertools.chain.from_iterable(self._columns)):
            column.flush()
        write_file(self._index, json.dumps(asdict(self.facts)).encode())

    def _add(self, source: Ragged, target: Ragged, max_length: int) -> None:
        facts = self.facts
        source_lengths, target_lengths = source.lengths, target.lengths - 1
        fits = np.flatnonzero(np.maximum(source_lengths, target_lengths) <= max_length + 1)
        self._kept.extend(facts.num_read + fits)
        facts.num_read += len(target)
        if not len(fits):
            return
        facts.source_longest = max(facts.source_longest, int(source_lengths[fits].max()))
        facts.target_longest = max(facts.target_longest, int(target_lengths[fits].max()))
        for (ids, offsets), side in zip(self._columns, (source, target), strict=False):
            short = side.take(fits)
            offsets.extend(len(ids) + short.offsets[1:])
            ids.extend(short.ids)

    def _encode(
        self, builder: Builder, checksums: list[int], num_processes: int
    ) -> Iterator[tuple[Ragged, Ragged]]:
        """The corpus chunk by chunk; updates the checksums of its texts on the way."""

        def chunks() -> Iterator[tuple[Sequence[str], Sequence[str]]]:
            for _, *sides in chunks_of_pairs(*self._texts):
                for number, texts in enumerate(sides):
                    joined = "".join(f"{text}\n" for text in texts)
                    found = joined.encode("utf-8", "surrogatepass")
                    checksums[number] = zlib.crc32(found, checksums[number])
                yield sides[0], sides[1]

        if num_processes < 2 or len(self._texts[1]) < _WORTH_PROCESSES:
            for sources, targets in chunks():
                yield builder.encode(sources, targets, [0])
            return
        messages: Iterator[Message] = (({}, texts_to_arrays(*sides)) for sides in chunks())
        with start_workers(builder, num_processes) as workers:
            for _, arrays in workers.in_order(messages):
                yield tokens_from_arrays(arrays)


@dataclass(frozen=True)
class Builder:
    """Makes the batches of a window; nothing else decides what is in them."""

    source_tokenizer: Tokenizer | None
    target_tokenizer: Tokenizer
    batch_tokens: int
    sampling: float
    max_length: int
    buffer: Buffer | None

    def encode(
        self, sources: Sequence[str], targets: Sequence[str], seed: Sequence[int]
    ) -> tuple[Ragged, Ragged]:
        """Source sequences with their end, target sequences with beginning and end."""
        source_seed, target_seed = np.random.SeedSequence(list(seed)).generate_state(2).tolist()
        if self.source_tokenizer is None:
            source = Ragged.of([()] * len(targets))
        else:
            source = self._encode_side(self.source_tokenizer, sources, source_seed)
            source = source.ending_with(EOS_ID)
        target = self._encode_side(self.target_tokenizer, targets, target_seed)
        return source, target.beginning_with(BOS_ID).ending_with(EOS_ID)

    def _encode_side(self, tokenizer: Tokenizer, texts: Sequence[str], seed: int) -> Ragged:
        if not self.sampling:
            return Ragged.of(tokenizer.encode_batch(texts, num_threads=-1))
        sampled = tokenizer.sample(texts, self.sampling, seed)
        too_long = np.flatnonzero(sampled.lengths > self.max_length)
        if not len(too_long):
            return sampled
        # Pairs are admitted by their plain length; it replaces a segmentation that is too long.
        plain = Ragged.of(tokenizer.encode_batch([texts[row] for row in too_long.tolist()]))
        rows = np.arange(len(sampled))
        rows[too_long] = len(sampled) + np.arange(len(plain))
        return Ragged.joined([sampled, plain]).take(rows)

    def build(self, source: Ragged, target: Ragged, seed: Sequence[int]) -> list[Batch]:
        return batches_of(
            source, target, batch_tokens=self.batch_tokens, buffer=self.buffer, seed=seed
        )

    def to_message(self) -> Message:
        arrays = {"target": np.frombuffer(self.target_tokenizer.proto, np.uint8)}
        if self.source_tokenizer is not None:
            arrays["source"] = np.frombuffer(self.source_tokenizer.proto, np.uint8)
        header = {name: getattr(self, name) for name in ("batch_tokens", "sampling", "max_length")}
        buffer = dataclasses.asdict(self.buffer) if self.buffer else None
        return {**header, "buffer": buffer}, arrays

    @classmethod
    def from_message(cls, message: Message) -> Builder:
        header, arrays = message
        buffer = header.pop("buffer")
        return cls(
            source_tokenizer=Tokenizer(arrays["source"].tobytes()) if "source" in arrays else None,
            target_tokenizer=Tokenizer(arrays["target"].tobytes()),
            buffer=Buffer(**buffer) if buffer else None,
            **header,
        )

    def answer(self, message: Message) -> Message:
        """In a worker: texts or tokens of a window in, its batches out; without a seed, texts in, tokens out."""
        header, arrays = message
        if "target_bytes" in arrays:
            source, target = self.encode(*texts_from_arrays(arrays), header.get("seed", [0]))
        else:
            source, target = tokens_from_arrays(arrays)
        if "seed" not in header:
            return {}, tokens_to_arrays(source, target)
        return _batches_to_message(self.build(source, target, header["seed"]))


def _batches_to_message(batches: list[Batch]) -> Message:
    arrays: Arrays = {}
    for number, batch in enumerate(batches):
        for name in _ARRAYS:
            arrays[f"{number}.{name}"] = getattr(batch, name).astype(np.int32)
    return {"num_tokens": [batch.num_tokens for batch in batches]}, arrays


def batch_from_message(message: Message, packed: bool, number: int) -> Batch:
    header, arrays = message
    values = {name: arrays[f"{number}.{name}"].astype(kind) for name, kind in _ARRAYS.items()}
    return Batch(**values, packed=packed, num_tokens=header["num_tokens"][number])


_ARRAYS = {
    "source": np.int64,
    "source_lengths": np.int32,
    "target_input": np.int64,
    "target_output": np.int64,
    "target_lengths": np.int32,
}


def start_workers(builder: Builder, count: int) -> Workers:
    return Workers("regard.data.encoding", [builder.to_message()] * count)


def main() -> None:
    """A worker process."""
    serve(lambda first: Builder.from_message(first).answer)
