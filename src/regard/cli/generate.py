"""The verbs chat, write and fill: a conversation, a text that goes on, blanks that are filled in."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import RegardWarning, UsageError

if TYPE_CHECKING:
    from regard.api import Model
    from regard.cli.lines import Writer
    from regard.generate.chat import Conversation

QUIT, NEW = "/quit", "/new"
_BLOCK_BYTES = 1 << 21  # lines that are continued together, and lost by a kill


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
    """Talk with a chat model, which remembers what was said; asked to translate, a translator answers and is named.

    /new starts a new conversation; /quit or Ctrl-D ends. From a pipe each line is a turn and gets one line in
    answer, an empty line an empty one.
    """
    from regard.cli.lines import STDIN, Writer, arriving_lines

    options = opt.decode_options(settings, "generate", temperature=temperature, seed=seed)
    loaded = _load_for("chat", model, engine=engine, device=device, threads=threads)
    talk = loaded.chat(**options)
    with Writer(None) as writer:
        if once is not None:
            _answer(talk, once, writer, as_json)
            return
        is_watched = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
        if is_watched:
            typer.echo(f"{loaded.folder.name}: {NEW} starts anew, {QUIT} or Ctrl-D ends.", err=True)
        piped = (line.text for lines in arriving_lines(STDIN) for line in lines)
        for text in _typed() if is_watched else piped:
            if text.strip() == QUIT:
                return
            if text.strip() == NEW:
                talk.turns.clear()
            elif text.strip():
                _answer(talk, text, writer, as_json)
            elif not is_watched and not as_json:
                writer.write("\n")


def _answer(talk: Conversation, text: str, writer: Writer, as_json: bool) -> None:
    if as_json:
        said = {"text": text, "reply": talk.say(text), "number": len(talk.turns) // 2}
        writer.write_json(said | ({"translated_by": talk.translated_by} if talk.translated_by else {}))
        return
    for word in talk.saying(text):
        writer.write(word)
    writer.write(f" [{talk.translated_by}]\n" if talk.translated_by else "\n")


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


def write(
    text: Annotated[str, Argument(help="The beginning; - or a pipe is read from stdin.")] = "",
    model: opt.ModelName = None,
    length: Annotated[int, Option("--length", "-n", help="Words to write at most.")] = 120,
    endings: Annotated[int, opt.option("How many different continuations.")] = 1,
    temperature: opt.Temperature = None,
    top_p: Annotated[float | None, opt.option("Sample from the tokens with this much probability.")] = None,
    seed: opt.Seed = None,
    settings: opt.SamplingSettings = None,
    inputs: Annotated[opt.Files, opt.option("Continue each line of these files.", "FILE", "--input", "-i")] = None,
    output: Annotated[opt.File, opt.option("A file of continued lines for each, there.", "FOLDER", *opt.OUT)] = None,
    as_json: opt.AsJson = False,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Continue a text with a language model, word by word as it is found.

    Several endings have an empty line between them; with --json each is a line. The lines of files are continued many
    at a time, and the same command again goes on after an interruption.
    """
    from regard.cli.lines import Writer

    options = opt.decode_options(settings, "generate", temperature=temperature, top_p=top_p, seed=seed)
    if inputs or output:
        if text or as_json or endings != 1 or not (inputs and output):
            raise UsageError(
                "lines need --input and --output alone: got more or fewer; leave out text, --json, --endings"
            )
        opening = {"engine": engine, "device": device, "threads": threads}
        _write_lines(inputs, output, model, opening, {**options, "length": length})
        return
    is_piped = not text and sys.stdin is not None and not sys.stdin.isatty()
    # A pipe's last line end is not part of the text.
    text = _read("-" if is_piped else text).removesuffix("\n").removesuffix("\r")
    loaded = _load_for("write", model, engine=engine, device=device, threads=threads)
    if endings < 1:
        raise UsageError(f"--endings must be at least 1: got {endings}; leave it out for one")
    if endings > 1 and (options.get("temperature") == 0 or options.get("method") == "greedy"):
        raise UsageError(
            f"--endings must be 1 where nothing is sampled, or all would be alike: got {endings}; raise --temperature"
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
            for part in parts:
                writer.write(part)
            writer.write("\n")


def _write_lines(
    inputs: list[Path], output: Path, model: str | None, opening: dict[str, Any], options: dict[str, Any]
) -> None:
    import functools

    from regard.api import load
    from regard.folder.catalogue import find, find_by_task
    from regard.generate.continuation import LineWriter
    from regard.translate.corpus import Job, in_this_process

    folder = find(model or find_by_task("write")).resolve()
    files = tuple(str(path.resolve()) for path in inputs)
    job = Job(files, str(output.resolve()), str(folder), opening, options, block_bytes=_BLOCK_BYTES)
    job.run(in_this_process(functools.partial(LineWriter, load)), lambda told: typer.echo(told, err=True))


def _check_language(text: str, model: Model) -> None:
    """Warn when the text is surely not in the language that the model writes."""
    from regard.text.language import main_language, sure_language

    writes = main_language(model.manifest.target_language)
    found = sure_language(text) if writes else ""
    if found and found != writes:
        told = f"the text seems to be in {found}, and {model.folder.name} writes {writes}"
        warnings.warn(f"{told}: what follows may make little sense", RegardWarning, stacklevel=2)


def fill(
    text: Annotated[str, Argument(help='With blanks: "Paris is the [MASK] of France."; - reads stdin.')],
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
    loaded = _load_for("fill", model, engine=engine, device=device, threads=threads)
    blanks = loaded.fill(text, n_best=n_best)
    with Writer(None) as writer:
        if as_json:
            writer.write_json({"text": text, "blanks": [[asdict(each) for each in row] for row in blanks]})
            return
        for row in blanks:
            for each in row:
                writer.write(f"{each.probability:.4f}  {on_one_line(each.text)}\n")


def _load_for(task: str, model: str | None, **opening: Any) -> Model:
    """The model that is named, or the first one for this task."""
    from regard.api import load
    from regard.folder.catalogue import find_by_task

    return load(model or find_by_task(task), **opening)


def _read(text: str) -> str:
    if text != "-":
        return text
    if sys.stdin is None:
        raise UsageError("standard input must be open: it is closed; give a text")
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        message = f"standard input must be UTF-8: byte {error.start + 1} is not; convert it with iconv"
        raise UsageError(message) from error
