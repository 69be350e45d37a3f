"""Running text of one language, from files of paragraphs to batches.

A line is a paragraph. An empty line ends a document, as does the end of a file: a book, a chapter, an article. The
paragraphs of a document are one text with a line end between two of them, and are encoded as that text.

Each epoch cuts every document into chunks as long as a row, each time in other places; a chunk goes over line ends. The
chunks are shuffled and made into batches window by window, as pairs are (`batch_stream`). Only chunks at the beginning
or the end of a document have its begin or end token.

For masked language modelling a chunk always has an end token, as any text in use; and one chunk in ten is cut in two, so
that short texts are read as well (Devlin et al. 2019, appendix A.2).
"""

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from regard.data.batch_stream import BatchStream, Lanes
from regard.data.batches import Batch, Buffer, Masking, batches_of
from regard.data.corpus import ReadingReport
from regard.data.lines import decode, raw_lines
from regard.errors import DataError, UsageError
from regard.text.ragged import Ragged
from regard.text.tokenizer import EOS_ID, Ends, Tokenizer, TokenizerBase

_LINES_AT_ONCE = 100_000  # lines encoded together
_BATCHES_PER_WINDOW = 64
_SHARE_CUT = 0.1

Places = NDArray[np.int64]


@dataclass
class RunningText:
    """Documents, each of them its lines in order."""

    documents: list[list[str]]
    report: ReadingReport = field(default_factory=ReadingReport)

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def num_lines(self) -> int:
        return sum(map(len, self.documents))

    @property
    def num_characters(self) -> int:
        """Line ends included."""
        return sum(len(line) + 1 for line in self.lines())

    def lines(self) -> Iterator[str]:
        return (line for document in self.documents for line in document)


def read_running_text(
    files: Sequence[str | Path], *, each_line: bool = False, strict: bool = False, advice: str = "mend the file"
) -> RunningText:
    """Read files of text. each_line: each line is a document of its own.

    advice: what an error about an unusable line says to do, where `strict` allows none.
    """
    text = RunningText([], ReadingReport(advice if strict else ""))
    for file in files:
        document: list[str] = []
        for number, line in enumerate(raw_lines(Path(file)), start=1):
            text.report.num_lines += 1
            paragraph, problem = decode(line)
            if problem:
                text.report.refuse(f"{file}:{number}", problem)
                continue
            is_blank = not paragraph.strip()
            if (is_blank or each_line) and document:
                text.documents.append(document)
                document = []
            if not is_blank:
                document.append(paragraph)
        if document:
            text.documents.append(document)
    if not text.documents:
        names = ", ".join(str(file) for file in files) or "no files"
        raise DataError(f"the text must hold a line that is not empty: got none from {names}")
    return text


def encode_documents(tokenizer: TokenizerBase, documents: Sequence[list[str]]) -> Ragged:
    """The tokens of each document, without beginning and end."""
    if not isinstance(tokenizer, Tokenizer):
        return Ragged.of(tokenizer.encode_batch(["\n".join(document) for document in documents]))
    texts = [line if number == 0 else f"\n{line}" for document in documents for number, line in enumerate(document)]
    parts = []
    for start in range(0, len(texts), _LINES_AT_ONCE):
        chunk = texts[start : start + _LINES_AT_ONCE]
        encoded = Ragged.of(tokenizer.encode_batch(chunk, num_threads=-1))
        # Later lines lose the space that SentencePiece puts before a text; no token crosses a line end.
        goes_on = np.fromiter((text.startswith("\n") for text in chunk), bool, len(chunk))
        first = encoded.offsets[:-1][goes_on]
        assert (encoded.ids[first] == tokenizer.id_of("\u2581")).all()
        parts.append(Ragged.of_lengths(np.delete(encoded.ids, first), encoded.lengths - goes_on))
    lines = Ragged.joined(parts)
    num_lines = np.fromiter(map(len, documents), np.int64, len(documents))
    ends = np.concatenate([[0], np.cumsum(num_lines)])
    return Ragged(lines.ids, lines.offsets[ends])


@dataclass(frozen=True)
class TextChunks:
    """Documents as token ids, and how they are cut into chunks."""

    documents: Ragged
    max_length: int  # tokens of a row that the model reads
    masking: Masking | None
    pad_id: int

    @classmethod
    def of(cls, tokens: Ragged, max_length: int, masking: Masking | None, ends: Ends = TokenizerBase) -> Self:
        if max_length < 2:
            raise UsageError(f"max_length must be at least 2 for running text: got {max_length}; raise it")
        documents = tokens if masking else tokens.beginning_with(ends.bos_id).ending_with(ends.eos_id)
        return cls(documents, max_length, masking, ends.pad_id)

    @property
    def num_tokens(self) -> int:
        """About the number of tokens read in an epoch."""
        rows = len(self.documents) + self.documents.offsets[-1] // self.max_length
        return int(self.documents.offsets[-1] + (rows if self.masking else -len(self.documents)))

    def cut(self, generator: np.random.Generator | None) -> tuple[Places, Places]:
        """Where the chunks begin and end in the flat array; without a generator they are cut evenly."""
        row = self.max_length - 1 if self.masking else self.max_length
        lengths = self.documents.lengths - (not self.masking)
        first = np.full(len(lengths), row)
        if generator is not None:
            drawn = generator.integers(1, row + 1, len(lengths))
            first = np.where(lengths > row, drawn, row)
        counts = 1 + -(-np.maximum(lengths - first, 0) // row)
        document = np.repeat(np.arange(len(lengths)), counts)
        number = np.arange(len(document)) - np.repeat(np.cumsum(counts) - counts, counts)
        stops = np.minimum(first[document] + number * row, lengths[document])
        starts = np.maximum(first[document] + (number - 1) * row, 0)
        begin = self.documents.offsets[document]
        starts, stops = starts + begin, stops + begin
        if self.masking and generator is not None:
            middles = starts + 1 + np.floor(generator.random(len(starts)) * (stops - starts - 1))
            cut = np.flatnonzero((generator.random(len(starts)) < _SHARE_CUT) & (stops - starts > 1))
            at = middles[cut].astype(np.int64)
            starts, stops = np.concatenate([starts, at]), np.concatenate([stops, stops[cut]])
            stops[cut] = at
        return starts, stops

    def batches(
        self, starts: Places, stops: Places, batch_tokens: int, buffer: Buffer | None, seed: Sequence[int]
    ) -> list[Batch]:
        """Some chunks in batches, each with one token more than is read: what comes after the last."""
        if self.masking:
            target = self.documents.between(starts, stops).beginning_with(EOS_ID).ending_with(EOS_ID)
        else:
            target = self.documents.between(starts, stops + 1)
        source = Ragged.of([()] * len(target))
        batches = batches_of(source, target, batch_tokens=batch_tokens, buffer=buffer, seed=seed, pad_id=self.pad_id)
        if self.masking is None:
            return batches
        return [self.masking(batch, [*seed, number]) for number, batch in enumerate(batches)]

    def even_batches(self, batch_tokens: int, seed: int) -> list[Batch]:
        """All of a text once in padded batches, always the same, blanks included: for comparable losses."""
        return self.batches(*self.cut(None), batch_tokens, None, [seed])


class RunningTextStream(BatchStream):
    """The batches of running text; nothing is left out, because long documents are cut."""

    def __init__(self, chunks: TextChunks, *, batch_tokens: int, packing: bool, seed: int = 1) -> None:
        self._chunks, masking = chunks, chunks.masking
        self._batch_tokens, self._seed, self.pad_id = batch_tokens, seed, chunks.pad_id
        self.max_sequence_length = chunks.max_length
        starts, stops = chunks.cut(None)
        if not len(starts):
            raise DataError("the text must hold a token: got none; give more text")
        mean = chunks.num_tokens / len(starts)
        self.buffer = Buffer.sized(batch_tokens, 0.0, mean, chunks.max_length) if packing else None
        room = batch_tokens if self.buffer is None else self.buffer.target_room
        if int((stops - starts).max()) + (masking is not None) > room:
            raise UsageError(
                f"batch_tokens must have room for a row of {chunks.max_length} tokens: got {batch_tokens}; "
                "raise it, or lower max_length"
            )
        shares = () if masking is None else (masking.share, masking.hidden, masking.random)
        fingerprint = zlib.crc32(repr((batch_tokens, packing, chunks.max_length, seed, shares)).encode())
        # One after the other: joined they would be another copy of the text.
        for numbers in (chunks.documents.offsets, chunks.documents.ids):
            fingerprint = zlib.crc32(numbers.data, fingerprint)
        self._last_epoch: tuple[int, Places, Places] | None = None
        num_windows = math.ceil(chunks.num_tokens / batch_tokens / _BATCHES_PER_WINDOW)
        super().__init__(max(1, num_windows), fingerprint, Lanes())

    def _build(self, epoch: int, window: int) -> list[Batch]:
        # Windows of one epoch follow one another, so the last epoch is nearly always the one.
        if self._last_epoch is None or self._last_epoch[0] != epoch:
            generator = np.random.default_rng([self._seed, epoch])
            starts, stops = self._chunks.cut(generator)
            order = generator.permutation(len(starts))
            self._last_epoch = (epoch, starts[order], stops[order])
        _, starts, stops = self._last_epoch
        bounds = np.linspace(0, len(starts), self._num_windows + 1).astype(np.int64)
        part = slice(bounds[window], bounds[window + 1])
        seed = [self._seed, epoch, window]
        return self._chunks.batches(starts[part], stops[part], self._batch_tokens, self.buffer, seed)
