"""The verb chat: a conversation in the terminal, or line by line through a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli import options as opt

if TYPE_CHECKING:
    from regard.cli.lines import Writer
    from regard.generate.chat import Conversation

QUIT, NEW = "/quit", "/new"


def chat(
    once: Annotated[str | None, opt.option("Answer this, and end.", "TEXT")] = None,
    model: opt.ModelName = None,
    temperature: opt.Temperature = None,
    seed: opt.Seed = None,
    settings: opt.SamplingSettings = None,
    as_json: opt.AsJson = False,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Talk with a chat model, which remembers what was said.

    /new starts a new conversation; /quit or Ctrl-D ends. From a pipe each line is a turn and gets one line in
    answer, an empty line an empty one.
    """
    from regard.cli.lines import STDIN, Writer, arriving_lines

    options = opt.generate_options(settings, temperature=temperature, seed=seed)
    loaded = opt.load_for("chat", model, engine=engine, device=device, threads=threads)
    talk = loaded.chat(**options)
    with Writer(None) as writer:
        if once is not None:
            _answer(talk, once, writer, as_json)
            return
        is_watched = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
        if is_watched:
            name = loaded.folder.name
            typer.echo(f"{name}: {NEW} starts anew, {QUIT} or Ctrl-D ends.", err=True)
        piped = (line.text for lines in arriving_lines(STDIN) for line in lines)
        for text in _typed() if is_watched else piped:
            if text.strip() == QUIT:
                return
            if text.strip() == NEW:
                talk.begin_anew()
            elif text.strip():
                _answer(talk, text, writer, as_json)
            elif not is_watched and not as_json:
                writer.write("\n")


def _answer(talk: Conversation, text: str, writer: Writer, as_json: bool) -> None:
    if as_json:
        reply = talk.say(text)
        writer.write_json({"text": text, "reply": reply, "number": len(talk.turns) // 2})
        return
    for word in talk.saying(text):
        writer.write(word)
    writer.write("\n")


def _typed() -> Iterator[str]:
    """Turns as they are typed, with line editing where the system has it."""
    with suppress(ImportError):
        import readline  # noqa: F401
    while True:
        try:
            yield input("> ")
        except EOFError:
            typer.echo()
            return
