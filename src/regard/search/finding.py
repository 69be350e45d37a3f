"""A query in, the passages nearest to it out, with the words that match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import UsageError
from regard.search.index import Index, build
from regard.search.kept import load, update
from regard.search.matching import Comparison, Match, compare
from regard.search.reading import Progress, Reader
from regard.search.wording import best
from regard.text.given import check_text


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found."""

    file: str
    line: int
    """where it begins, from 1"""
    score: float
    """the cosine of the angle between its vector and the query's, and more where it holds the query's words"""
    text: str
    matches: list[Match]
    """the words that answer words of the query"""
    comparison: Comparison
    """every word of the query with every word of the passage"""

    def to_dict(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in ("file", "line", "score", "text")}
        return {**found, "matches": [match.to_dict() for match in self.matches]}


@dataclass(frozen=True, slots=True)
class Found(Sequence[Hit]):
    """What a query found, best first."""

    query: str
    hits: list[Hit]
    num_passages: int
    """that were searched"""
    left_out: list[str]
    """files that could not be read, with the reason"""

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: Any) -> Any:
        return self.hits[place]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "num_passages": self.num_passages,
            "hits": [hit.to_dict() for hit in self.hits],
            "left_out": self.left_out,
        }

    def html(self) -> str:
        """A page with every word of the query against every word of each passage."""
        from regard.search.page import page

        return page(self)

    def _repr_html_(self) -> str:
        return self.html()


def search(reader: Reader, query: str, index: Index, top: int = 10) -> Found:
    """The passages of an index that answer a query best."""
    check_text(query, "the query")
    if not query.strip():
        raise UsageError("a query must have words: got none; give some")
    if top < 1:
        raise UsageError(f"top must be at least 1: got {top}; give a larger one")
    if index.fingerprint != reader.fingerprint:
        raise UsageError(
            "an index is searched with the model that made it: this one was made by another; "
            "name that model, or name the files to have the index made anew"
        )
    num_pieces = reader.count(query)
    if num_pieces > reader.longest:
        raise UsageError(
            f"a query must have at most {reader.longest} pieces: got {num_pieces}; shorten it"
        )
    hits: list[Hit] = []
    if index.passages:
        [vector] = reader.vectors([query])
        numbers, scores = best(
            query, vector, index.vectors, lambda number: index.passages[number].text, top
        )
        texts = [index.passages[number].text for number in numbers]
        for number, score, comparison in zip(
            numbers, scores, compare(reader, query, texts), strict=True
        ):
            line, text = index.passages[number]
            file = index.entry_of(number).path
            hits.append(Hit(file, line, round(score, 4), text, comparison.matches(), comparison))
    return Found(query, hits, len(index.passages), index.left_out)


def find(
    reader: Reader,
    query: str,
    files: Sequence[str | Path] = (),
    *,
    folder: Path | None = None,
    top: int = 10,
    encoding: str | None = None,
    progress: Progress = lambda done, total: None,
    say: Callable[[str], None] = lambda text: None,
) -> Found:
    """Search files and folders; in `folder` their index is kept, and without files searched as it is."""
    index: Index | None
    if folder is None:
        if not files:
            raise UsageError("a search needs files or folders: got none; name some")
        index = build(reader, files, encoding=encoding, progress=progress)
    elif files:
        index = update(folder, reader, files, encoding=encoding, progress=progress, say=say)
    else:
        index = load(folder)
        if index is None:
            raise UsageError(
                f"{folder} must be an index: it is none; name the files to make one of as well"
            )
    return search(reader, query, index, top)
