"""The verb search: passages of text files that mean what a query says."""

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument

from regard.cli import options as opt
from regard.errors import RegardWarning


def search(
    query: Annotated[str, Argument(help="What to look for, in the model's languages.")],
    files: Annotated[
        list[Path] | None, Argument(help="Text files and folders; none searches the --index as it is.")
    ] = None,
    model: opt.ModelName = None,
    top: Annotated[int, opt.option("Passages to show.", None, "--top", "-n")] = 5,
    index: Annotated[opt.File, opt.option("Keep the vectors for next time.", "FOLDER")] = None,
    encoding: opt.Encoding = None,
    html: Annotated[opt.File, opt.option("A page: every word with every word.", "FILE")] = None,
    as_json: opt.AsJson = False,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Find the passages of text files that mean what a query says.

    They are ranked by a model's encoder, words in their context, across the languages it reads, and by the words they
    share with the query. With --index only files that have changed are read again.
    """
    from regard.cli.lines import Bars, Writer
    from regard.files import write_file
    from regard.folder import catalogue
    from regard.search.encoder import TextEncoder
    from regard.search.query import find

    folder = catalogue.find(model) if model else catalogue.find_by_task("search")
    encoder = TextEncoder.open(folder, kind=engine, device=device, threads=threads)
    with Bars() as bars:
        progress = bars.start("reading")
        found = find(encoder, query, files or (), folder=index, top=top, encoding=encoding, progress=progress)
    told = [f"left out {each}" for each in found.left_out]
    if not found.num_passages:
        told.append("there is no text to search: the files and folders hold none that can be read; name others")
    for message in told:
        warnings.warn(message, RegardWarning, stacklevel=2)
    if html is not None:
        write_file(html, found.html().encode())
        typer.echo(f"{html}: {html.stat().st_size / 1e3:.0f} kB", err=True)
    with Writer(None) as writer:
        if as_json:
            writer.write_json(found.to_dict())
        elif html is None:
            is_bold = sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            before, after = ("\x1b[1m", "\x1b[0m") if is_bold else ("*", "*")
            for hit in found:
                writer.write(f"{hit.score:.4f}  {hit.file}:{hit.line}\n")
                line = hit.marked(_shown, lambda match: f"{before}{_shown(match.word)}{after}")
                if is_bold:  # the writer would escape the colours
                    typer.echo(f"    {line}")
                else:
                    writer.write(f"    {line}\n")


def _shown(text: str) -> str:
    from regard.cli.lines import without_controls
    from regard.data.lines import on_one_line

    return without_controls(on_one_line(text))
