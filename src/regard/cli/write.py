"""The verbs write and fill, for language models and fill-in models."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import RegardWarning, UsageError

if TYPE_CHECKING:
    from regard.api import Model

_SHORT = 0.8
"""share of the requested words below which a warning says that there are fewer"""


def write(
    text: Annotated[str, Argument(help="The beginning; - or a pipe is read from stdin.")] = "",
    model: opt.ModelName = None,
    length: Annotated[int, Option("--length", "-n", help="Words to write at most.")] = 120,
    endings: Annotated[int, opt.option("How many different continuations.")] = 1,
    temperature: opt.Temperature = None,
    top_p: Annotated[
        float | None, opt.option("Sample from the tokens with this much probability.")
    ] = None,
    seed: opt.Seed = None,
    settings: opt.SamplingSettings = None,
    as_json: opt.AsJson = False,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Continue a text with a language model, word by word as it is found.

    Several endings have an empty line between them; with --json each is a line.
    """
    from regard.cli.lines import Writer

    options = opt.generate_options(settings, temperature=temperature, top_p=top_p, seed=seed)
    is_piped = not text and sys.stdin is not None and not sys.stdin.isatty()
    # A pipe's last line end is not part of the text.
    text = _read("-" if is_piped else text).removesuffix("\n").removesuffix("\r")
    loaded = opt.load_for("write", model, engine=engine, device=device, threads=threads)
    if endings < 1:
        raise UsageError(f"--endings must be at least 1: got {endings}; leave it out for one")
    if endings > 1 and (options.get("temperature") == 0 or options.get("method") == "greedy"):
        raise UsageError(
            f"--endings must be 1 where nothing is sampled, or all would be alike: got {endings}; "
            "raise --temperature"
        )
    _check_language(text, loaded)
    with Writer(None) as writer:
        for number in range(endings):
            parts = loaded.writing(text, length=length, number=number, **options)
            if as_json:
                written = "".join(parts)
                writer.write_json({"prompt": text, "text": text + written, "written": written})
                continue
            writer.write("\n" * (number > 0) + text)
            num_words = 0
            for part in parts:
                writer.write(part)
                num_words += len(part.split())
            writer.write("\n")
            if num_words < _SHORT * length:
                _warn(
                    f"the text came to its end after {num_words} of {length} words; "
                    "another --seed may go on longer"
                )


def fill(
    text: Annotated[
        str, Argument(help='With blanks: "Paris is the [MASK] of France."; - reads stdin.')
    ],
    model: opt.ModelName = None,
    n_best: Annotated[int, Option("--n-best", help="Words for each blank.")] = 5,
    as_json: opt.AsJson = False,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Fill in the blanks of a text with an encoder-only model."""
    from regard.cli.lines import Writer
    from regard.data.lines import on_one_line

    text = _read(text)
    loaded = opt.load_for("fill", model, engine=engine, device=device, threads=threads)
    blanks = loaded.fill(text, n_best=n_best)
    with Writer(None) as writer:
        if as_json:
            found = [[each.to_dict() for each in row] for row in blanks]
            writer.write_json({"text": text, "blanks": found})
            return
        for row in blanks:
            for each in row:
                writer.write(f"{each.probability:.4f}  {on_one_line(each.text)}\n")


def _check_language(text: str, model: Model) -> None:
    """Warn when the text is surely not in the language that the model writes."""
    from regard.text.language import main_language, sure_language

    writes = main_language(model.manifest.target_language)
    found = sure_language(text) if writes else ""
    if found and found != writes:
        _warn(
            f"the text seems to be in {found}, and {model.folder.name} writes {writes}: "
            "what follows may make little sense"
        )


def _warn(message: str) -> None:
    warnings.warn(message, RegardWarning, stacklevel=3)


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
