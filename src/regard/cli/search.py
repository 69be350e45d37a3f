"""The verb that finds passages: search."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import AsJson, Device, Engine, ModelName, Threads

if TYPE_CHECKING:
    from regard.cli.lines import Writer
    from regard.search.finding import Hit
    from regard.search.reading import Progress


def search(
    query: Annotated[str, typer.Argument(help="What to look for, in the model's languages.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Text files and folders; none searches the --index as it is."),
    ] = None,
    model: ModelName = None,
    top: Annotated[int, typer.Option("--top", "-n", help="Passages to show.")] = 5,
    index: Annotated[
        Path | None,
        typer.Option("--index", metavar="FOLDER", help="Keep what was read here for next time."),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option("--encoding", metavar="NAME", help="Of files that do not declare it."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="A page: every word with every word."),
    ] = None,
    as_json: AsJson = False,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Find the passages of text files that mean what a query says.

    They are ranked by a model's encoder, words in their context, across the languages it reads, and by the words they
    share with the query. With --index only files that have changed are read again.
    """
    from regard.cli.lines import Writer
    from regard.errors import RegardWarning
    from regard.files import write_file
    from regard.folder.catalogue import find_for_search
    from regard.search.finding import find
    from regard.search.reading import Reader

    folder = find_for_search(model)
    reader = Reader.open(folder, kind=engine, device=device, threads=threads)
    with _bar() as progress:
        found = find(
            reader,
            query,
            files or (),
            folder=index,
            top=top,
            encoding=encoding,
            progress=progress,
            say=lambda text: typer.echo(text, err=True),
        )
    for each in found.left_out:
        warnings.warn(f"left out {each}", RegardWarning, stacklevel=2)
    if not found.num_passages:
        warnings.warn(
            "there is no text to search: the files and folders hold none that can be read; name others",
            RegardWarning,
            stacklevel=2,
        )
    if html is not None:
        write_file(html, found.html().encode())
        typer.echo(f"{html}: {html.stat().st_size / 1e3:.0f} kB", err=True)
    with Writer(None) as writer:
        if as_json:
            writer.write(json.dumps(found.to_dict(), ensure_ascii=False) + "\n")
        elif html is None:
            for hit in found:
                _show(hit, writer)


def _show(hit: Hit, writer: Writer) -> None:
    from regard.cli.lines import on_one_line, without_controls

    before, after = ("\x1b[1m", "\x1b[0m") if _in_colour() else ("*", "*")
    parts, cursor = [], 0
    for match in hit.matches:
        for text, mark in ((hit.text[cursor : match.start], before), (match.word, after)):
            parts += [without_controls(on_one_line(text)), mark]
        cursor = match.end
    parts.append(without_controls(on_one_line(hit.text[cursor:])))
    writer.write(f"{hit.score:.4f}  {hit.file}:{hit.line}\n")
    line = f"    {''.join(parts)}"
    if _in_colour():  # which the writer would not let through
        typer.echo(line)
    else:
        writer.write(line + "\n")


def _in_colour() -> bool:
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")


@contextmanager
def _bar() -> Iterator[Progress]:
    """A bar on stderr when someone is watching."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
