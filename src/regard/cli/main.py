"""The command `regard`: its verbs, and how it ends.

A verb is a function in its own file, a thin layer over the Python interface. These files import only typer and the
standard library at the top, and the rest inside the verb, so that `regard --help` starts at once.
"""

import functools
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from regard import __version__
from regard.cli.distil import distil
from regard.cli.generate import chat, fill, write
from regard.cli.models import data, export, import_model, models
from regard.cli.score import evaluate, score
from regard.cli.search import search
from regard.cli.serve import look, serve
from regard.cli.train import compare, train
from regard.cli.translate import translate, translate_corpus
from regard.errors import RegardError, RegardWarning

app = typer.Typer(
    name="regard",
    no_args_is_help=True,
    # Pretty help and tracebacks would double the time of every start.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Verb(TyperCommand):
    """A command whose errors say how to give a text that looks like an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # typer's error for an unknown option has no public name.
            text = next((each for each in given if each.startswith("-") and " " in each), None)
            if text is not None and hasattr(error, "option_name"):
                command = f"{ctx.command_path} -- {shlex.quote(text)}"
                ctx.fail(f"{error}; a text that begins with a dash goes after --:  {command}")
            raise


def main() -> None:
    """Run the command in a process of its own."""
    signal.signal(signal.SIGTERM, _end)
    # A shell starts background jobs with SIGINT ignored; they keep ignoring it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    try:
        app(prog_name="regard")
    except OSError as error:
        _drop_output()
        where = f" ({error.filename})" if error.filename else ""
        problem = f"the system could not read or write: {error.strerror or error}{where}"
        typer.echo(f"regard: {problem}; check the disk and the permissions", err=True)
        sys.exit(1)


def _guarded(function: Callable[..., None]) -> Callable[..., None]:
    """The function; a user's mistake ends it with one sentence, a closed pipe with none."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", RegardWarning)
                warnings.showwarning = _show_warning
                function(*args, **kwargs)
        except RegardError as error:
            typer.echo(f"regard: {error}", err=True)
            raise typer.Exit(error.exit_code) from error
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(128 + 13) from None

    return guarded


def _show_warning(message: Any, category: type[Warning], *place: Any, **_: Any) -> None:
    text = f"regard: {message}\n"
    if not issubclass(category, RegardWarning):
        text = warnings.formatwarning(message, category, *place[:2])
    typer.echo(text, err=True, nl=False)


def _drop_output() -> None:
    """Discard what is still buffered: nobody reads it, and Python would complain at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end(number: int, frame: object) -> None:
    """Exit through every `finally`, so that nothing stays half-written; a second signal would interrupt that."""
    signal.signal(number, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"regard {__version__}")
        raise typer.Exit


@app.callback()
def regard(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """The Transformer of 2017: translate offline, train, and see every number."""


_TEXT_VERBS = (translate, score, evaluate, translate_corpus, chat, write, fill, search)
_MODEL_VERBS = (look, serve, train, distil, compare, export, import_model, data, models)
for _verb in (*_TEXT_VERBS, *_MODEL_VERBS):
    _name = "import" if _verb is import_model else _verb.__name__.replace("_", "-")
    app.command(_name, cls=Verb)(_guarded(_verb))
