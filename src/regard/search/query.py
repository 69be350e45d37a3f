"""Search: a query in, the passages that answer it best out.

The passages with the nearest vectors are reordered by the words that they share with the query:

    score = cosine + WEIGHT · share² - WEIGHT_OF_SHORT · (1 - words of the passage ÷ ENOUGH_WORDS)²
    share = letters of those words of the query that stand in the passage ÷ letters of all of them

Vectors find other words for the same thing, but a query of one word is often nearer to a heading than to a sentence that
holds it. Squared, the share matters only where nearly all words are found; where none is, the vectors decide. A passage of
a word or two is somewhat near to everything and answers little, so it has to be nearer than a sentence.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import UsageError
from regard.search.encoder import TextEncoder, normalised
from regard.search.index import Index, build, load, update
from regard.search.results import WEIGHT, Comparison, Hit, SearchResult
from regard.text import Span, check_text
from regard.text.words import words

ROWS_AT_ONCE = 65536  # rows of memory-mapped vectors that are read at once
NUM_NEAREST = 200  # nearest passages that are reordered by words
WEIGHT_OF_SHORT, ENOUGH_WORDS = 0.12, 10
"""weight of short passages, and words of one that is not short; doubles first hits among short lines, measured"""

_ACCENT = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+")


def find(
    encoder: TextEncoder,
    query: str,
    files: Sequence[str | Path] = (),
    *,
    folder: Path | None = None,
    top: int = 10,
    **options: Any,
) -> SearchResult:
    """Search files and folders; `folder` holds their index, which is searched as it is where no files are given.

    The options are those of `build`.
    """
    index: Index | None
    if folder is None:
        if not files:
            raise UsageError("a search needs files or folders: got none; name some")
        index = build(encoder, files, **options)
    elif files:
        index = update(folder, encoder, files, **options)
    else:
        index = load(folder)
        if index is None:
            raise UsageError(f"{folder} must be an index: there is none; name the files to index as well")
    return search(encoder, query, index, top)


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
        raise UsageError(f"a query must have at most {encoder.longest} tokens: got {num_tokens}; shorten it")
    hits: list[Hit] = []
    if index.passages:
        [vector] = encoder.vectors([query])
        rows, scores = best(query, vector, index.vectors, lambda row: index.passages[row].text, top)
        compared = compare(encoder, query, [index.passages[row].text for row in rows])
        for row, score, comparison in zip(rows, scores, compared, strict=True):
            line, text = index.passages[row]
            hits.append(Hit(index.path_of(row), line, round(score, 4), text, comparison))
    return SearchResult(query, hits, len(index.passages), index.left_out)


def best(
    query: str, vector: np.ndarray, vectors: np.ndarray, text_of: Callable[[int], str], count: int
) -> tuple[list[int], list[float]]:
    """The rows of the best passages, best first, and their scores; equal scores come in the order of rows."""
    rows, cosines = nearest(vector, vectors, max(count, NUM_NEAREST))
    asked = set(words_in(query))
    found = [set(words_in(text_of(row))) for row in rows.tolist()]
    num_letters = max(1, sum(map(len, asked)))
    shares = np.array([sum(map(len, asked & each)) / num_letters for each in found])
    lacking = np.array([max(0.0, 1 - len(each) / ENOUGH_WORDS) for each in found])
    scores = cosines + WEIGHT * shares**2 - WEIGHT_OF_SHORT * lacking**2
    order = np.lexsort((rows, -scores))[:count]
    return rows[order].tolist(), scores[order].tolist()


def nearest(query: np.ndarray, vectors: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the nearest vectors, best first, and their cosines; all vectors have length 1."""
    scores = np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        part = vectors[start : start + ROWS_AT_ONCE]
        np.matmul(part, query, out=scores[start : start + len(part)])
    candidates = np.arange(len(scores))
    if count < len(scores):
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        candidates = np.flatnonzero(scores >= least)
    rows = candidates[np.argsort(-scores[candidates], kind="stable")][:count]
    return rows, scores[rows]


def words_in(text: str) -> list[str]:
    """In lower case, without accents."""
    return _WORD.findall(_ACCENT.sub("", unicodedata.normalize("NFD", text.casefold())))


def compare(encoder: TextEncoder, query: str, passages: Sequence[str]) -> list[Comparison]:
    """The words of the query with those of each passage."""
    texts = [query, *passages]
    read = zip(texts, encoder.token_vectors(texts), strict=True)
    [(asked, query_vectors), *found] = [word_vectors(text, *tokens) for text, tokens in read]
    query_words = [query[start:end] for start, end in asked]
    pairs = zip(passages, found, strict=True)
    return [Comparison(text, query_words, spans, query_vectors @ vectors.T) for text, (spans, vectors) in pairs]


def word_vectors(text: str, tokens: Sequence[Span], vectors: np.ndarray) -> tuple[list[Span], np.ndarray]:
    """The spans of the words of a text without punctuation; the vector of a word is the mean of its tokens'."""
    spans: list[Span] = []
    means: list[np.ndarray] = []
    for start, end in words(text):
        inside = [place for place, (begin, stop) in enumerate(tokens) if begin < end and stop > start and begin < stop]
        if inside and text[start].isalnum():
            spans.append((start, end))
            means.append(vectors[inside].mean(axis=0))
    return spans, normalised(np.reshape(means, (len(spans), vectors.shape[-1])))
