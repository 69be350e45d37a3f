"""The command `regard` and its verbs, in the order in which its help names them.

A verb is one function of its file `cli_*.py`, a thin layer over the same things in Python. These files import only
typer and the standard library; a verb imports what it needs when it runs, so that `regard --help` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer

from regard import __version__
from regard.cli.chat import chat
from regard.cli.compare import compare
from regard.cli.corpus import translate_corpus
from regard.cli.data import data
from regard.cli.ending import Verb, guarded, run
from regard.cli.exchange import export, import_model
from regard.cli.look import look
from regard.cli.models import models
from regard.cli.score import evaluate, score
from regard.cli.search import search
from regard.cli.serve import serve
from regard.cli.train import train
from regard.cli.translate import translate
from regard.cli.write import fill, write

_Parameters = ParamSpec("_Parameters")

app = typer.Typer(
    name="regard",
    no_args_is_help=True,
    # Pretty help and tracebacks would double the time of every start.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def verb(function: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    return app.command(cls=Verb)(guarded(function))


def main() -> None:
    run(app)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def regard(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """The Transformer of 2017: translate offline, train, and see every number."""


verb(translate)
verb(score)
verb(evaluate)
app.command("translate-corpus")(guarded(translate_corpus))
verb(chat)
verb(write)
verb(fill)
verb(search)
verb(look)
verb(serve)
verb(train)
verb(compare)
verb(export)
app.command("import")(guarded(import_model))
verb(data)
verb(models)
