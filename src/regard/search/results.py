"""What a search found: passages with the words that match, as objects, as JSON and as a page.

Late interaction (Khattab and Zaharia 2020) ranks by comparing every query word with every passage word. Here the same
comparison explains a ranking that mostly rests on the means of these vectors.

The page is one file without a script: its own security policy forbids everything but its style.
"""

import base64
import hashlib
import html
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from regard.text import Span

WEIGHT = 0.5
"""weight of shared words in a score; from 0.3 on benchmarks/search_quality.py hardly changes, and queries of one word gain up to 0.5"""
MATCH_SHARE = 0.3
"""how far a similarity must rise from the mean of its query word towards 1 to be a match"""
_STEPS = 10
"""shades of a table cell"""

_STYLE = (
    """
:root { color-scheme: light dark; --ink: 20 90 170; }
@media (prefers-color-scheme: dark) { :root { --ink: 120 180 255; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1rem; font-weight: 600; margin: 2rem 0 0.3rem; }
.file { font-family: ui-monospace, monospace; } .score { font-variant-numeric: tabular-nums; }
p.passage { margin: 0.2rem 0 0.6rem; } mark { color: inherit; border-radius: 3px; padding: 0 2px; }
.scroll { overflow-x: auto; } summary { cursor: pointer; }
table { border-collapse: collapse; font-size: 0.8rem; font-variant-numeric: tabular-nums; }
th, td { padding: 2px 5px; text-align: right; white-space: nowrap; } th { font-weight: 500; }
tbody th { position: sticky; left: 0; background: Canvas; } td.best { outline: 2px solid rgb(var(--ink)); outline-offset: -2px; }
footer { margin: 2rem 0; font-size: 0.85rem; opacity: 0.8; }
"""
    + "\n".join(
        f".s{step} {{ background: rgb(var(--ink) / {0.6 * step / _STEPS:.2f}); }}" for step in range(_STEPS + 1)
    )
    + "\n"
)


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
    spans: list[Span]
    """places of the passage's words"""
    similarity: np.ndarray
    """[query words, passage words]: the cosines of their vectors in context"""

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
    line: int
    """its first line, from 1"""
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
    num_passages: int
    """passages that were searched"""
    left_out: list[str]
    """files that could not be read, with the reason"""

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: Any) -> Any:
        return self.hits[place]

    def to_dict(self) -> dict[str, Any]:
        return {
            "query": self.query,
            "num_passages": self.num_passages,
            "hits": [hit.to_dict() for hit in self.hits],
            "left_out": self.left_out,
        }

    def html(self) -> str:
        """A page with every word of the query against every word of each passage."""
        digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
        title = html.escape(self.query)
        count = f"{len(self.hits)} of {self.num_passages:,} passages"
        hits = "\n".join(_section(number, hit) for number, hit in enumerate(self.hits, start=1))
        return f"""<!doctype html>
<html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{digest}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{_STYLE}</style></head><body>
<h1>{title}</h1>
<p>{count}, best first. A score is the cosine between the mean vectors of the query and the passage,
and up to {WEIGHT} more where words of the query stand in it; a cell is the cosine between two words, each in its
context. The nearest passage word of each query word is framed.</p>
<main>
{hits}
</main>
<footer>Made by regard search.</footer>
</body></html>
"""

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
