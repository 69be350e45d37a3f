"""The verb data: public corpora, listed and fetched, and training files made from raw ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.options import AsJson
from regard.errors import UsageError


def data(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[get NAME | prepare KIND FILE]",
            help="Fetch these, or make training files; without any all are listed.",
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--data", metavar="FOLDER", help="Where files are put, or are already.")
    ] = Path("data"),
    accept: Annotated[
        bool, typer.Option("--accept", help="Take files whose checksum is not the known one.")
    ] = False,
    held_out: Annotated[
        list[Path] | None,
        typer.Option("--held-out", metavar="FILE", help="Sentences that are not trained on."),
    ] = None,
    vary: Annotated[
        bool, typer.Option("--vary", help="French typed in any way, for models that read it.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes that clean; one a core if not said.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the public corpora that recipes use, fetch some from their publishers, or make training files.

    A transfer that was cut off is gone on with; a file is there whole, with the right checksum, or not at all.

    prepare fr-en takes files of French TAB English TAB domain, cleans them and sorts them into the files that
    recipes name.
    """
    from regard.data.corpus_files import obtain
    from regard.data.public_corpora import CORPORA, find_corpus

    if not words:
        _list(CORPORA, as_json)
        return
    if words[0] == "prepare" and len(words) > 1:
        files = [Path(word) for word in words[2:]]
        _prepare(words[1], files, folder, as_json, held_out or (), vary=vary, workers=workers)
        return
    if words[0] != "get" or len(words) < 2:
        raise UsageError(
            "regard data takes  get  and names of corpora, or  prepare, what, and files: got "
            f"{' '.join(words)!r}; write  regard data get multi30k"
        )
    for corpus in [find_corpus(name) for name in words[1:]]:
        with Bars() as bars:
            paths = obtain(corpus, folder, accept=accept, say=bars.say, progress=bars.start)
        if as_json:
            typer.echo(json.dumps({"name": corpus.name, "files": [str(path) for path in paths]}))


def _list(corpora: Any, as_json: bool) -> None:
    if as_json:
        from dataclasses import asdict

        typer.echo(json.dumps([asdict(corpus) for corpus in corpora]))
        return
    for corpus in corpora:
        size = "" if corpus.megabytes is None else f", {corpus.megabytes:g} MB"
        by_hand = "" if corpus.files else ", to be gathered by hand"
        typer.echo(f"{corpus.name:<16} {corpus.what}")
        typer.echo(
            f"{'':<16} {corpus.licence}{size}{by_hand}; for {corpus.used_for}; {corpus.home}"
        )


def _prepare(
    kind: str,
    files: list[Path],
    folder: Path,
    as_json: bool,
    held_out: Sequence[Path],
    *,
    vary: bool,
    workers: int | None,
) -> None:
    from regard.data.preparation import prepare

    def say(num_read: int) -> None:
        if sys.stderr.isatty():
            typer.echo(f"\r{num_read:,} lines", err=True, nl=False)

    made = prepare(kind, files, folder, held_out=held_out, vary=vary, workers=workers, say=say)
    if as_json:
        kept = {str(path): count for path, count in made.kept.items()}
        typer.echo(json.dumps({"read": made.num_read, "kept": kept, "dropped": made.dropped}))
    else:
        typer.echo(("\r" if sys.stderr.isatty() else "") + str(made), err=True)


class Bars:
    """A bar for each file on stderr when someone is watching, a line for each that is done."""

    def __init__(self) -> None:
        self._progress: Any = None

    def __enter__(self) -> Bars:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                DownloadColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                DownloadColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def say(self, text: str) -> None:
        if self._progress is not None:
            self._progress.console.print(text, highlight=False)
        else:
            typer.echo(text, err=True)

    def start(self, name: str) -> Callable[[int, int | None], None]:
        if self._progress is None:
            return lambda done, total: None
        task = self._progress.add_task(name, total=None)
        return lambda done, total: self._progress.update(task, completed=done, total=total)
