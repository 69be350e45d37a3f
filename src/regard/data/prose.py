"""Running text of one language: files of paragraphs, a line each.

An empty line ends a document, as does the end of a file: a book, a chapter, an article. The paragraphs of a document
are one text with a line end between two of them, and are encoded as that text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from regard.data.corpus import ReadingReport
from regard.data.lines import decode, raw_lines
from regard.errors import DataError
from regard.text.ragged import Ragged
from regard.text.tokenizer import Tokenizer

_CHUNK = 100_000
"""lines encoded together"""

Document = list[str]


@dataclass
class Prose:
    """Documents, each of them its lines in order."""

    documents: list[Document]
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


def read_prose(
    files: Sequence[str | Path], *, each_line: bool = False, strict: bool = False, advice: str = ""
) -> Prose:
    """Read files of text. each_line: each line is a document of its own.

    advice: what an error about an unusable line says to do, where `strict` allows none.
    """
    prose = Prose([])
    for file in files:
        document: Document = []
        for number, line in enumerate(raw_lines(Path(file)), start=1):
            prose.report.num_lines += 1
            text, problem = decode(line)
            if problem and strict:
                raise DataError(
                    f"{file}:{number}: every line must be usable: this one is {problem}; "
                    f"{advice or 'mend the file'}"
                )
            if problem:
                prose.report.refuse(f"{file}:{number}", problem)
                continue
            is_blank = not text.strip()
            if (is_blank or each_line) and document:
                prose.documents.append(document)
                document = []
            if not is_blank:
                document.append(text)
        if document:
            prose.documents.append(document)
    if not prose.documents:
        names = ", ".join(str(file) for file in files) or "no files"
        raise DataError(f"the text must hold a line that is not empty: got none from {names}")
    return prose


def encode_documents(tokenizer: Tokenizer, documents: Sequence[Document]) -> Ragged:
    """The tokens of each document, without beginning and end."""
    texts = [
        line if number == 0 else f"\n{line}"
        for document in documents
        for number, line in enumerate(document)
    ]
    parts = []
    for start in range(0, len(texts), _CHUNK):
        chunk = texts[start : start + _CHUNK]
        encoded = Ragged.of(tokenizer.encode_batch(chunk, num_threads=-1))
        goes_on = np.fromiter((text.startswith("\n") for text in chunk), bool, len(chunk))
        parts.append(_without_first(encoded, goes_on, tokenizer))
    lines = Ragged.joined(parts)
    num_lines = np.fromiter(map(len, documents), np.int64, len(documents))
    ends = np.concatenate([[0], np.cumsum(num_lines)])
    return Ragged(lines.ids, lines.offsets[ends])


def _without_first(encoded: Ragged, which: np.ndarray, tokenizer: Tokenizer) -> Ragged:
    """Later lines lose the space that SentencePiece puts before a text; no token crosses a line end."""
    first = encoded.offsets[:-1][which]
    assert (encoded.ids[first] == tokenizer.id_of("\u2581")).all()
    return Ragged.of_lengths(np.delete(encoded.ids, first), encoded.lengths - which)
