"""The command `regard` and its verbs, in the order in which its help names them.

A verb is one function of its file `cli_*.py`, a thin layer over the same things in Python. These files import only
typer and the standard library; a verb imports what it needs when it runs, so that `regard --help` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer

from regard import __version__
from regard.cli_chat import chat
from regard.cli_compare import compare
from regard.cli_corpus import translate_corpus
from regard.cli_data import data
from regard.cli_ending import Verb, guarded, run
from regard.cli_exchange import export, import_model
from regard.cli_look import look
from regard.cli_models import models
from regard.cli_score import evaluate, score
from regard.cli_search import search
from regard.cli_serve import serve
from regard.cli_train import train
from regard.cli_translate import translate
from regard.cli_write import fill, write

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
