"""The verbs of models with one stack: write and fill."""

from __future__ import annotations

import json
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

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
from regard.errors import RegardWarning, UsageError

if TYPE_CHECKING:
    from regard.api import Model

_SHORT = 0.8
"""of the words asked for, below which it is said that there are fewer"""


def write(
    text: Annotated[
        str, typer.Argument(help="How it begins; - or a pipe is read from stdin.")
    ] = "",
    model: ModelName = None,
    length: Annotated[int, typer.Option("--length", "-n", help="Words to write at most.")] = 120,
    endings: Annotated[int, typer.Option("--endings", help="Go on so many times anew.")] = 1,
    temperature: Annotated[
        float | None,
        typer.Option("--temperature", help="Below 1 sharper, above 1 flatter, 0 not at random."),
    ] = None,
    top_p: Annotated[
        float | None, typer.Option("--top-p", help="Only pieces with this much probability.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same gives the same text.")
    ] = None,
    settings: SamplingSettings = None,
    as_json: AsJson = False,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Go on from a text with a language model, word by word as it is found.

    Endings have an empty line between them; with --json each is a line.
    """
    from regard.cli.lines import Writer

    options = generate_options(settings, temperature=temperature, top_p=top_p, seed=seed)
    is_piped = not text and sys.stdin is not None and not sys.stdin.isatty()
    # The end of a line is not the end of what is told in it.
    text = _read("-" if is_piped else text).removesuffix("\n").removesuffix("\r")
    loaded = load_for(model, "write", engine=engine, device=device, threads=threads)
    if endings < 1:
        raise UsageError(f"--endings must be at least 1: got {endings}; leave it out for one")
    if endings > 1 and (options.get("temperature") == 0 or options.get("method") == "greedy"):
        raise UsageError(
            f"--endings must be 1 where nothing is drawn, or all would be alike: got {endings}; raise --temperature"
        )
    _doubt(text, loaded)
    with Writer(None) as writer:
        for number in range(endings):
            parts = loaded.writing(text, length=length, number=number, **options)
            if as_json:
                written = "".join(parts)
                answer = {"prompt": text, "text": text + written, "written": written}
                writer.write(json.dumps(answer, ensure_ascii=False) + "\n")
                continue
            writer.write("\n" * (number > 0) + text)
            num_words = 0
            for part in parts:
                writer.write(part)
                num_words += len(part.split())
            writer.write("\n")
            if num_words < _SHORT * length:
                warnings.warn(
                    f"the text came to its end after {num_words} of {length} words; another --seed may go on longer",
                    RegardWarning,
                    stacklevel=2,
                )


def fill(
    text: Annotated[
        str, typer.Argument(help='With blanks: "Paris is the [MASK] of France."; - reads stdin.')
    ],
    model: ModelName = None,
    n_best: Annotated[int, typer.Option("--n-best", help="Words for each blank.")] = 5,
    as_json: AsJson = False,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Fill in the blanks of a text with a model that reads it whole."""
    from regard.cli.lines import Writer, on_one_line

    text = _read(text)
    loaded = load_for(model, "fill", engine=engine, device=device, threads=threads)
    blanks = loaded.fill(text, n_best=n_best)
    with Writer(None) as writer:
        if as_json:
            answer = {"text": text, "blanks": [[each.to_dict() for each in row] for row in blanks]}
            writer.write(json.dumps(answer, ensure_ascii=False) + "\n")
            return
        for row in blanks:
            for each in row:
                writer.write(f"{each.probability:.4f}  {on_one_line(each.text)}\n")


def _doubt(text: str, model: Model) -> None:
    """Says that a text is surely not in the language that the model writes, where that is known."""
    from regard.text.language import main_language, sure_language

    writes = main_language(model.manifest.target_language)
    found = sure_language(text) if writes else ""
    if found and found != writes:
        warnings.warn(
            f"the text seems to be in {found}, and {model.folder.name} writes {writes}: "
            "what follows may make little sense",
            RegardWarning,
            stacklevel=2,
        )


def _read(text: str) -> str:
    if text != "-":
        return text
    if sys.stdin is None:
        raise UsageError("standard input must be open: it is closed; give a text")
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"standard input must be UTF-8: byte {error.start + 1} is not; convert it with iconv"
        ) from error


def load_for(model: str | None, task: str, **options: Any) -> Model:
    from regard.api import load
    from regard.folder.catalogue import find_by_task

    return load(model or find_by_task(task), **options)
