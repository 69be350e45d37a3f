"""The report as one HTML file without scripts or links to other files, and as Markdown beside its figures."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from regard.compare.contents import Paragraph, Part, Table, contents, footer
from regard.compare.figures import draw_all
from regard.compare.results import Results
from regard.files import write_file

FIGURES = "figures"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_NO_PICTURES = (
    "No pictures: matplotlib was not installed when this was written; "
    "install it, and regard compare --only-report draws them."
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fdfdfc; --line: #d4d2cc; --soft: #5c5a55; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e1; --paper: #171716; --line: #45433f; --soft: #aaa69d; } }
body { color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
h3 { font-size: 1rem; }
figure { margin: 1rem 0; }
figcaption, .note { color: var(--soft); font-size: .85rem; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 6px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; margin-bottom: 1rem; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
"""


def write_report(results: Results, output: Path) -> Path:
    """Write the figures and both pages; without matplotlib the pages hold tables alone, and say so."""
    pictures = draw_all(results, footer(results)) if find_spec("matplotlib") else {}
    parts = contents(results)
    if not pictures:
        parts.insert(1, Paragraph(_NO_PICTURES))
    (output / FIGURES).mkdir(exist_ok=True)
    for name, content in pictures.items():
        write_file(output / FIGURES / f"{name}.png", content)
    markdown = "\n\n".join(_markdown(part, pictures) for part in parts)
    write_file(output / "report.md", f"{markdown}\n".encode())
    body = "\n".join(_html(part, pictures) for part in parts)
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(results.study.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{body}\n</body>\n</html>\n"
    )
    path = output / "report.html"
    write_file(path, page.encode())
    return path


def _html(part: Part, pictures: dict[str, bytes]) -> str:
    if isinstance(part, Paragraph):
        tag = "p" if part.kind == "note" else part.kind
        style = ' class="note"' if part.kind == "note" else ""
        return f"<{tag}{style}>{html.escape(part.text)}</{tag}>"
    if isinstance(part, Table):
        rows = "".join(_row("td", row) for row in part.rows)
        head = f"<thead>{_row('th', part.head)}</thead>"
        return f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'
    caption, image = html.escape(part.caption), ""
    if part.name in pictures:
        data = base64.b64encode(pictures[part.name]).decode()
        image = f'<img alt="{caption}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(each)}</{tag}>' for each in cells)}</tr>"


def _markdown(part: Part, pictures: dict[str, bytes]) -> str:
    if isinstance(part, Paragraph):
        level = int(part.kind[1]) if part.kind.startswith("h") else 0
        return f"{'#' * level} {part.text}" if level else part.text
    if isinstance(part, Table):
        lines = [part.head, ["---"] * len(part.head), *part.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    shown = f"![{part.name}]({FIGURES}/{part.name}.png)\n\n" if part.name in pictures else ""
    return f"{shown}*{part.caption}*"
