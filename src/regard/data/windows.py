"""A window of pairs becomes batches: here, or in a child process that was sent the same things."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regard.data.layout import Batch, batches_of
from regard.data.packing import Buffer
from regard.data.workers import Arrays, Message, serve
from regard.text.ragged import Ragged
from regard.text.tokenizer import BOS_ID, EOS_ID, Tokenizer

SIDES = ("source", "target")


@dataclass(frozen=True)
class Builder:
    """Makes the batches of a window. Everything that decides their content is in here or in the window."""

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
        # Pairs are admitted by their plain length; a draw that is too long is replaced by that.
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
        """In a child process: a window's texts or ids in, its batches out; without a seed, texts in, ids out."""
        header, arrays = message
        if "target_bytes" in arrays:
            sources, targets = (texts_from_arrays(side, arrays) for side in SIDES)
            source, target = self.encode(sources, targets, header.get("seed", [0]))
        else:
            source, target = pieces_from_arrays(arrays)
        if "seed" not in header:
            return {}, pieces_to_arrays(source, target)
        return _batches_to_message(self.build(source, target, header["seed"]))


def pieces_to_arrays(source: Ragged, target: Ragged) -> Arrays:
    arrays: Arrays = {}
    for side, pieces in zip(SIDES, (source, target), strict=True):
        arrays |= {f"{side}_ids": pieces.ids, f"{side}_offsets": pieces.offsets}
    return arrays


def pieces_from_arrays(arrays: Arrays) -> tuple[Ragged, Ragged]:
    source, target = (Ragged(arrays[f"{side}_ids"], arrays[f"{side}_offsets"]) for side in SIDES)
    return source, target


def texts_to_arrays(side: str, texts: Sequence[str]) -> Arrays:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return {f"{side}_bytes": np.frombuffer(b"".join(encoded), np.uint8), f"{side}_lengths": lengths}


def texts_from_arrays(side: str, arrays: Arrays) -> list[str]:
    joined = arrays[f"{side}_bytes"].tobytes()
    ends = np.cumsum(arrays[f"{side}_lengths"]).tolist()
    return [
        joined[start:end].decode("utf-8", "surrogatepass")
        for start, end in zip([0, *ends], ends, strict=False)
    ]


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


def main() -> None:
    """The life of a child process."""
    serve(lambda first: Builder.from_message(first).answer)
