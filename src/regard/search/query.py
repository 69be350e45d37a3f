"""Search: a query in, the passages that answer it best out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from regard.errors import UsageError
from regard.search.encoder import OnProgress, TextEncoder, normalised
from regard.search.index import Index, build
from regard.search.index_folder import load, update
from regard.search.ranking import best
from regard.search.results import Comparison, EmbeddedWords, Hit, SearchResult
from regard.text import Span, check_text
from regard.text.words import words


def search(encoder: TextEncoder, query: str, index: Index, top: int = 10) -> SearchResult:
    """The passages of an index that answer a query best."""
    check_text(query, "the query")
    if not query.strip():
        raise UsageError("a query must have words: got none; give some")
    if top < 1:
        raise UsageError(f"top must be at least 1: got {top}; give a larger one")
    if index.fingerprint != encoder.fingerprint:
        raise UsageError(
            "an index is searched with the model that made it: this one was made by another; "
            "name that model, or name the files to have the index made anew"
        )
    num_tokens = encoder.count(query)
    if num_tokens > encoder.longest:
        raise UsageError(
            f"a query must have at most {encoder.longest} tokens: got {num_tokens}; shorten it"
        )
    hits: list[Hit] = []
    if index.passages:
        [vector] = encoder.vectors([query])
        numbers, scores = best(
            query, vector, index.vectors, lambda number: index.passages[number].text, top
        )
        texts = [index.passages[number].text for number in numbers]
        compared = compare(encoder, query, texts)
        for number, score, comparison in zip(numbers, scores, compared, strict=True):
            line, text = index.passages[number]
            file = index.entry_of(number).path
            hits.append(Hit(file, line, round(score, 4), text, comparison.matches(), comparison))
    return SearchResult(query, hits, len(index.passages), index.left_out)


def find(
    encoder: TextEncoder,
    query: str,
    files: Sequence[str | Path] = (),
    *,
    folder: Path | None = None,
    top: int = 10,
    encoding: str | None = None,
    progress: OnProgress = lambda done, total: None,
    say: Callable[[str], None] = lambda text: None,
) -> SearchResult:
    """Search files and folders; `folder` holds their index, which is searched as it is where no files are given."""
    index: Index | None
    if folder is None:
        if not files:
            raise UsageError("a search needs files or folders: got none; name some")
        index = build(encoder, files, encoding=encoding, progress=progress)
    elif files:
        index = update(folder, encoder, files, encoding=encoding, progress=progress, say=say)
    else:
        index = load(folder)
        if index is None:
            raise UsageError(
                f"{folder} must be an index: it is none; name the files to make one of as well"
            )
    return search(encoder, query, index, top)


def compare(encoder: TextEncoder, query: str, passages: Sequence[str]) -> list[Comparison]:
    """The words of the query with those of each passage."""
    texts = [query, *passages]
    [asked, *found] = [
        _embedded_words(text, *each)
        for text, each in zip(texts, encoder.token_vectors(texts), strict=True)
    ]
    return [Comparison(asked, each) for each in found]


def _embedded_words(text: str, tokens: Sequence[Span], vectors: np.ndarray) -> EmbeddedWords:
    """The words of a text without punctuation; the vector of a word is the mean of its tokens'."""
    found = EmbeddedWords([], [], np.zeros((0, vectors.shape[-1]), np.float32))
    means: list[np.ndarray] = []
    for start, end in words(text):
        inside = [
            place
            for place, (begin, stop) in enumerate(tokens)
            if begin < end and stop > start and begin < stop
        ]
        if inside and text[start].isalnum():
            found.words.append(text[start:end])
            found.spans.append((start, end))
            means.append(vectors[inside].mean(axis=0))
    return replace(found, vectors=normalised(np.stack(means))) if means else found
