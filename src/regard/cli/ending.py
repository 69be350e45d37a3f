"""How a command ends: a mistake in one sentence, a closed pipe in silence, a signal with everything tidied."""

from __future__ import annotations

import functools
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TextIO

import typer
from typer.core import TyperCommand

from regard.errors import RegardError, RegardWarning

_Parameters = ParamSpec("_Parameters")


def guarded(function: Callable[_Parameters, None]) -> Callable[_Parameters, None]:
    """A verb whose user's mistakes end in one sentence, and whose closed pipe ends in silence."""

    @functools.wraps(function)
    def verb(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> None:
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

    return verb


class Verb(TyperCommand):
    """A command that says how to give a text that looks like an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            # What typer raises for an option that it does not know has no public name.
            text = next((each for each in given if each.startswith("-") and " " in each), None)
            told = getattr(error, "message", "") if hasattr(error, "option_name") else ""
            if text is not None and told:
                command = f"{ctx.command_path} -- {shlex.quote(text)}"
                ctx.fail(f"{told}; a text that begins with a dash goes after --:  {command}")
            raise


def run(app: typer.Typer) -> None:
    """The whole command, in a process of its own."""
    signal.signal(signal.SIGTERM, _terminate)
    # A shell starts what runs in the background with SIGINT ignored, and it stays so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        app(prog_name="regard")
    except OSError as error:
        _drop_output()
        where = f" ({error.filename})" if error.filename else ""
        typer.echo(
            f"regard: the system could not read or write: {error.strerror or error}{where}; "
            "check the disk and the permissions",
            err=True,
        )
        sys.exit(1)


def _drop_output() -> None:
    """What is still buffered has no reader; at exit Python would complain about it."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminate(number: int, frame: object) -> None:
    """Leave through every `finally` and `with`, so that nothing stays half-written; only once."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _interrupt(number: int, frame: object) -> None:
    """As Python does it, but only once: a second one would come in the middle of the tidying."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    ours = issubclass(category, RegardWarning)
    text = (
        f"regard: {message}\n"
        if ours
        else warnings.formatwarning(message, category, filename, lineno)
    )
    typer.echo(text, err=True, nl=False)
