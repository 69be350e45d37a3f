"""The verb data: public corpora, listed and fetched."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import UsageError


def data(
    words: Annotated[
        list[str] | None, Argument(metavar="[get NAME]", help="Fetch corpora; without any word all corpora are listed.")
    ] = None,
    folder: Annotated[Path, Option("--data", metavar="FOLDER", help="Where files are put, or are already.")] = Path(
        "data"
    ),
    accept: Annotated[bool, Option("--accept", help="Accept files whose checksum is not the known one.")] = False,
    as_json: opt.AsJson = False,
) -> None:
    """List the public corpora that recipes use, or fetch some from their publishers.

    An interrupted transfer is continued; a file is there whole, with the right checksum, or not at all.
    """
    from regard.cli.lines import Bars
    from regard.data.public_corpora import CORPORA, find_corpus, obtain

    if words and (words[0] != "get" or len(words) == 1):
        raise UsageError(
            f"regard data takes  get  and names of corpora: got {' '.join(words)!r}; write  regard data get multi30k"
        )
    for corpus in [find_corpus(name) for name in (words or [])[1:]]:
        with Bars(count_bytes=True) as bars:
            paths = obtain(corpus, folder, accept=accept, say=bars.say, progress=bars.start)
        if as_json:
            typer.echo(json.dumps({"name": corpus.name, "files": [str(path) for path in paths]}))
    if words:
        return
    if as_json:
        typer.echo(json.dumps([asdict(corpus) for corpus in CORPORA]))
        return
    for corpus in CORPORA:
        size = "" if corpus.megabytes is None else f", {corpus.megabytes:g} MB"
        by_hand = "" if corpus.files else ", to be gathered by hand"
        about = f"{corpus.licence}{size}{by_hand}; for {corpus.used_for}; {corpus.home}"
        typer.echo(f"{corpus.name:<16} {corpus.what}\n{'':<16} {about}")
