"""The report as one HTML file without scripts or links to other files, and as Markdown beside its figures."""

from __future__ import annotations

import base64
import html
from importlib.util import find_spec
from pathlib import Path

from regard.compare.contents import Block, Heading, Paragraph, Row, Table, contents, footer
from regard.compare.figures import draw_all
from regard.compare.results import Results
from regard.files import write_file

FIGURES = "figures"
_NOTE = ' class="note"'
REPORT, MARKDOWN = "report.html", "report.md"
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
    blocks = contents(results)
    if not pictures:
        blocks.insert(1, Paragraph(_NO_PICTURES))
    (output / FIGURES).mkdir(exist_ok=True)
    for name, content in pictures.items():
        write_file(output / FIGURES / f"{name}.png", content)
    write_file(output / MARKDOWN, as_markdown(blocks, set(pictures)).encode())
    path = output / REPORT
    write_file(path, as_html(results.study.title, blocks, pictures).encode())
    return path


def as_html(title: str, blocks: list[Block], pictures: dict[str, bytes]) -> str:
    """The page with its pictures inside, light or dark as the browser prefers."""
    parts = "\n".join(_html(block, pictures) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{parts}\n</body>\n</html>\n"
    )


def _html(block: Block, pictures: dict[str, bytes]) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{html.escape(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        return f"<p{_NOTE if block.is_note else ''}>{html.escape(block.text)}</p>"
    if isinstance(block, Table):
        rows = "".join(f"<tr>{_cells('td', row)}</tr>" for row in block.rows)
        head = f"<thead><tr>{_cells('th', block.head)}</tr></thead>"
        return f'<div class="wide"><table>{head}<tbody>{rows}</tbody></table></div>'
    caption, image = html.escape(block.caption), ""
    if block.name in pictures:
        data = base64.b64encode(pictures[block.name]).decode()
        image = f'<img alt="{caption}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def _cells(kind: str, values: Row) -> str:
    return "".join(f"<{kind}>{html.escape(value)}</{kind}>" for value in values)


def as_markdown(blocks: list[Block], pictures: set[str]) -> str:
    """The same with the pictures as separate files."""
    return "\n\n".join(_markdown(block, pictures) for block in blocks) + "\n"


def _markdown(block: Block, pictures: set[str]) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Paragraph):
        return block.text
    if isinstance(block, Table):
        lines = [block.head, ["---"] * len(block.head), *block.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    shown = f"![{block.name}]({FIGURES}/{block.name}.png)\n\n" if block.name in pictures else ""
    return f"{shown}*{block.caption}*"
