"""A search as one page: each passage with the words that match, and every similarity as a number.

One file without a script: the page's own security policy forbids everything but its style.
"""

from __future__ import annotations

import base64
import hashlib
import html
from typing import TYPE_CHECKING

import numpy as np

from regard.search.wording import WEIGHT

if TYPE_CHECKING:
    from regard.search.finding import Found, Hit

_STEPS = 10
"""shades of a cell"""

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
        f".s{step} {{ background: rgb(var(--ink) / {0.6 * step / _STEPS:.2f}); }}"
        for step in range(_STEPS + 1)
    )
    + "\n"
)


def page(found: Found) -> str:
    """The whole page."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    title = html.escape(found.query)
    count = f"{len(found.hits)} of {found.num_passages:,} passages"
    hits = "\n".join(_hit(number, hit) for number, hit in enumerate(found.hits, start=1))
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


def _hit(number: int, hit: Hit) -> str:
    place = f"{html.escape(hit.file)}:{hit.line}"
    return f"""<section><h2>{number}. <span class="file">{place}</span> <span class="score">{hit.score:.4f}</span></h2>
<p class="passage">{_marked(hit)}</p>
<details{" open" if number == 1 else ""}><summary>Every word with every word</summary>
<div class="scroll">{_table(hit)}</div></details></section>"""


def _marked(hit: Hit) -> str:
    parts, cursor = [], 0
    for match in hit.matches:
        parts.append(html.escape(hit.text[cursor : match.start]))
        label = html.escape(f"{match.query_word}: {match.similarity:.4f}")
        word = html.escape(hit.text[match.start : match.end])
        parts.append(f'<mark class="s{_step(match.similarity)}" title="{label}">{word}</mark>')
        cursor = match.end
    return "".join([*parts, html.escape(hit.text[cursor:])])


def _table(hit: Hit) -> str:
    compared = hit.comparison
    head = "".join(f'<th scope="col">{html.escape(word)}</th>' for word in compared.passage.all())
    rows = []
    for word, values in zip(compared.query.all(), compared.similarity, strict=True):
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
