"""The verb chat: a conversation in the terminal, or line by line through a pipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.options import (
    AsJson,
    Device,
    Engine,
    ModelName,
    SamplingSettings,
    Threads,
    generate_options,
)
from regard.cli.write import load_for

if TYPE_CHECKING:
    from regard.cli.lines import Writer
    from regard.generate.chat import Conversation

QUIT, NEW = "/quit", "/new"
_PROMPT = "> "


def chat(
    once: Annotated[
        str | None, typer.Option("--once", metavar="TEXT", help="Answer this, and end.")
    ] = None,
    model: ModelName = None,
    temperature: Annotated[
        float | None,
        typer.Option("--temperature", help="Draw: below 1 sharper, above 1 flatter; 0 does not."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same gives the same replies.")
    ] = None,
    settings: SamplingSettings = None,
    as_json: AsJson = False,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Talk with a chat model, which remembers what was said.

    /new begins anew; /quit or Ctrl-D ends. From a pipe each line is a turn and gets a line in answer, an empty one
    an empty one.
    """
    from regard.cli.lines import Writer

    options = generate_options(settings, temperature=temperature, seed=seed)
    loaded = load_for(model, "chat", engine=engine, device=device, threads=threads)
    talk = loaded.chat(**options)
    with Writer(None) as writer:
        if once is not None:
            _answer(talk, once, writer, as_json)
            return
        watched = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
        if watched:
            name = loaded.folder.name
            typer.echo(f"{name}: {NEW} begins anew, {QUIT} or Ctrl-D ends.", err=True)
        for text in _typed() if watched else _piped():
            if text.strip() == QUIT:
                return
            if text.strip() == NEW:
                talk.begin_anew()
            elif text.strip():
                _answer(talk, text, writer, as_json)
            elif not watched and not as_json:
                writer.write("\n")


def _answer(talk: Conversation, text: str, writer: Writer, as_json: bool) -> None:
    if as_json:
        reply = talk.say(text)
        answer = {"text": text, "reply": reply, "number": len(talk.turns) // 2}
        writer.write(json.dumps(answer, ensure_ascii=False) + "\n")
        return
    for word in talk.saying(text):
        writer.write(word)
    writer.write("\n")


def _typed() -> Iterator[str]:
    """Turns as they are typed, with the keys that a line can be mended with where the system has them."""
    try:
        import readline  # noqa: F401
    except ImportError:
        pass
    while True:
        try:
            yield input(_PROMPT)
        except EOFError:
            typer.echo()
            return


def _piped() -> Iterator[str]:
    from regard.cli.lines import arriving_lines

    for lines in arriving_lines([Path("-")]):
        for line in lines:
            yield line.text
