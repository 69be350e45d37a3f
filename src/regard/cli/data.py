"""The verb data: public corpora, listed and fetched, and training files prepared from raw ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import UsageError


def data(
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="[get NAME | prepare KIND FILE]",
            help="Fetch corpora, or prepare training files; without any word all corpora are listed.",
        ),
    ] = None,
    folder: Annotated[
        Path, opt.option("Where files are put, or are already.", "FOLDER", "--data")
    ] = Path("data"),
    accept: Annotated[
        bool, Option("--accept", help="Accept files whose checksum is not the known one.")
    ] = False,
    held_out: Annotated[
        list[Path] | None, opt.option("Sentences that are not trained on.", "FILE")
    ] = None,
    vary: Annotated[
        bool, Option("--vary", help="French typed in any way, for models that read it.")
    ] = False,
    workers: Annotated[
        int | None, opt.option("Processes that clean; by default one a core.")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """List the public corpora that recipes use, fetch some from their publishers, or prepare training files.

    An interrupted transfer is continued; a file is there whole, with the right checksum, or not at all.

    prepare fr-en takes files of French TAB English TAB domain, cleans them and sorts them into the files that
    recipes name.
    """
    match words or []:
        case []:
            _list(as_json)
        case ["get", first, *rest]:
            _get([first, *rest], folder, accept=accept, as_json=as_json)
        case ["prepare", kind, *files]:
            options = {"held_out": held_out or (), "vary": vary, "workers": workers}
            _prepare(kind, files, folder, as_json, options)
        case other:
            raise UsageError(
                "regard data takes  get  and names of corpora, or  prepare, what, and files: got "
                f"{' '.join(other)!r}; write  regard data get multi30k"
            )


def _list(as_json: bool) -> None:
    from dataclasses import asdict

    from regard.data.public_corpora import CORPORA

    if as_json:
        typer.echo(json.dumps([asdict(corpus) for corpus in CORPORA]))
        return
    for corpus in CORPORA:
        size = "" if corpus.megabytes is None else f", {corpus.megabytes:g} MB"
        by_hand = "" if corpus.files else ", to be gathered by hand"
        about = f"{corpus.licence}{size}{by_hand}; for {corpus.used_for}; {corpus.home}"
        typer.echo(f"{corpus.name:<16} {corpus.what}\n{'':<16} {about}")


def _get(names: list[str], folder: Path, *, accept: bool, as_json: bool) -> None:
    from regard.cli.lines import Bars
    from regard.data.corpus_files import obtain
    from regard.data.public_corpora import find_corpus

    for corpus in [find_corpus(name) for name in names]:
        with Bars(count_bytes=True) as bars:
            paths = obtain(corpus, folder, accept=accept, say=bars.say, progress=bars.start)
        if as_json:
            typer.echo(json.dumps({"name": corpus.name, "files": [str(path) for path in paths]}))


def _prepare(
    kind: str, files: list[str], folder: Path, as_json: bool, options: dict[str, Any]
) -> None:
    from regard.data.preparation import prepare

    def say(num_read: int) -> None:
        if sys.stderr.isatty():
            typer.echo(f"\r{num_read:,} lines", err=True, nl=False)

    made = prepare(kind, [*map(Path, files)], folder, say=say, **options)
    if as_json:
        kept = {str(path): count for path, count in made.kept.items()}
        typer.echo(json.dumps({"read": made.num_read, "kept": kept, "dropped": made.dropped}))
    else:
        typer.echo(("\r" if sys.stderr.isatty() else "") + str(made), err=True)
