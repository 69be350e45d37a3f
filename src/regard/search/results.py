"""What a search found: passages with the words that match, as objects, as JSON and as a page.

Late interaction (Khattab and Zaharia 2020) ranks by comparing every query word with every passage word. Here the same
comparison explains a ranking that mostly rests on the means of these vectors.

The page is one file without a script: its own security policy forbids everything but its style.
"""

import base64
import hashlib
import html
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from string import Template
from typing import Any

import numpy as np

from regard.text import Span

WEIGHT = 0.5
"""weight of shared words in a score; from 0.3 on benchmarks/search_quality.py hardly changes, and queries of one word gain up to 0.5"""
MATCH_SHARE = 0.3
"""share of the way from the mean similarity of a query word to 1, from which a word is a match"""
_STEPS = 10  # shades of a table cell


@dataclass(frozen=True, slots=True)
class Match:
    """A word of the passage, and the query word nearest to it."""

    start: int
    end: int
    word: str
    query_word: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every word of a query with every word of a passage."""

    passage: str
    query_words: list[str]
    spans: list[Span]  # places of the passage's words
    similarity: np.ndarray  # [query words, passage words]: the cosines of their vectors in context

    @property
    def words(self) -> list[str]:
        return [self.passage[start:end] for start, end in self.spans]

    def matches(self) -> list[Match]:
        """For each query word the nearest passage word, where it stands out; in the passage's order."""
        found: dict[int, Match] = {}
        for query_word, row in zip(self.query_words, self.similarity, strict=True):
            if not len(row):
                continue
            best = int(row.argmax())
            similarity, mean = float(row[best]), float(row.mean())
            is_taken = best in found and found[best].similarity >= similarity
            if similarity >= mean + MATCH_SHARE * (1 - mean) and not is_taken:
                word = self.words[best]
                found[best] = Match(*self.spans[best], word, query_word, round(similarity, 4))
        return [found[place] for place in sorted(found)]


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found."""

    file: str
    line: int  # its first line, from 1
    score: float
    text: str
    comparison: Comparison

    @property
    def matches(self) -> list[Match]:
        return self.comparison.matches()

    def marked(self, show: Callable[[str], str], mark: Callable[[Match], str]) -> str:
        """The text with its matches marked; what is between them is shown by `show`."""
        parts, cursor = [], 0
        for match in self.matches:
            parts += [show(self.text[cursor : match.start]), mark(match)]
            cursor = match.end
        return "".join([*parts, show(self.text[cursor:])])

    def to_dict(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in ("file", "line", "score", "text")}
        return {**found, "matches": [asdict(match) for match in self.matches]}


@dataclass(frozen=True, slots=True)
class SearchResult(Sequence[Hit]):
    """The hits of a query, best first."""

    query: str
    hits: list[Hit]
    num_passages: int  # passages that were searched
    left_out: list[str]  # files that could not be read, with the reason

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: Any) -> Any:
        return self.hits[place]

    def to_dict(self) -> dict[str, Any]:
        about = {"query": self.query, "num_passages": self.num_passages}
        return {**about, "hits": [hit.to_dict() for hit in self.hits], "left_out": self.left_out}

    def html(self) -> str:
        """A page with every word of the query against every word of each passage."""
        title, hits = html.escape(self.query), enumerate(self.hits, start=1)
        shades = (
            f".s{step} {{ background: rgb(var(--ink) / {0.6 * step / _STEPS:.2f}); }}" for step in range(_STEPS + 1)
        )
        page = (resources.files("regard.search") / "page.html").read_text(encoding="utf-8")
        before, style, after = re.split("(?<=<style>)|(?=</style>)", page)
        style += "\n".join(shades)
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        return Template(before + style + after).substitute(
            title=title,
            digest=digest,
            count=f"{len(self.hits)} of {self.num_passages:,} passages",
            weight=WEIGHT,
            hits="\n".join(_section(number, hit) for number, hit in hits),
        )

    _repr_html_ = html  # of a notebook


def _section(number: int, hit: Hit) -> str:
    place = f"{html.escape(hit.file)}:{hit.line}"
    return f"""<section><h2>{number}. <span class="file">{place}</span> <span class="score">{hit.score:.4f}</span></h2>
<p class="passage">{hit.marked(html.escape, _mark)}</p>
<details{" open" if number == 1 else ""}><summary>Every word with every word</summary>
<div class="scroll">{_table(hit)}</div></details></section>"""


def _mark(match: Match) -> str:
    label = html.escape(f"{match.query_word}: {match.similarity:.4f}")
    return f'<mark class="s{_step(match.similarity)}" title="{label}">{html.escape(match.word)}</mark>'


def _table(hit: Hit) -> str:
    compared = hit.comparison
    head = "".join(f'<th scope="col">{html.escape(word)}</th>' for word in compared.words)
    rows = []
    for word, values in zip(compared.query_words, compared.similarity, strict=True):
        best = int(np.argmax(values)) if len(values) else -1
        cells = "".join(
            f'<td class="s{_step(value)}{" best" if place == best else ""}">{value:.2f}</td>'
            for place, value in enumerate(values.tolist())
        )
        rows.append(f'<tr><th scope="row">{html.escape(word)}</th>{cells}</tr>')
    body = "".join(rows)
    return f"<table><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"


def _step(similarity: float) -> int:
    return round(_STEPS * min(max(similarity, 0.0), 1.0))
