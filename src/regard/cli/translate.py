"""The verbs translate (texts, documents, or lines as they arrive) and translate-corpus (files of any size)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import UsageError

_MARKED = set(".html .htm .po .xliff .xlf .tmx .docx .odt .pptx .epub .srt .vtt".split())  # lines would break them
if TYPE_CHECKING:
    from regard.api import Translation
    from regard.cli.model_choice import ModelChoice


def translate(
    texts: Annotated[list[str] | None, Argument(help="Texts, or documents by name; nothing or - reads stdin.")] = None,
    model: opt.ModelNames = None,
    source: Annotated[opt.Text, opt.option("Source language, such as fr; auto detects it.", "CODE", *opt.FROM)] = None,
    target: opt.To = None,
    inputs: Annotated[opt.Files, opt.option("Translate these files line by line.", "FILE", "--input", "-i")] = None,
    output: Annotated[opt.File, opt.option("Write here, not to stdout; or into this folder.", "FILE", *opt.OUT)] = None,
    force: Annotated[bool, Option("--force", help="Replace an existing output.")] = False,
    encoding: opt.Encoding = None,
    beam: opt.Beam = None,
    n_best: Annotated[int | None, opt.option("Lines written for each input.")] = None,
    prefix: Annotated[str, opt.option("What the output begins with.")] = "",
    ban: Annotated[opt.Texts, opt.option("Not in the output, spelt so.", "WORD")] = None,
    require: Annotated[opt.Texts, opt.option("In the output, spelt so.", "WORD")] = None,
    glossary: opt.GlossaryFile = None,
    mbr: opt.Mbr = "",
    samples: opt.Samples = 32,
    memory: Annotated[opt.File, opt.option("Exact matches from this .tmx, new ones into it.", "FILE")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only count the segments and words of documents.")] = False,
    whole: opt.Whole = False,
    plain: opt.Plain = False,
    settings: opt.BeamSettings = None,
    as_json: opt.AsJson = False,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Translate texts, documents, or stdin line by line.

    As many lines come out as went in, an empty one for an empty one, each as soon as it is known. Documents
    are .txt .md .html .srt .vtt .po .xliff .tmx .docx .odt .pptx .epub; everything but their text stays as it is.
    """
    from regard.cli.lines import Writer
    from regard.cli.model_choice import ModelChoice
    from regard.data.lines import on_one_line
    from regard.translate.glossary import Glossary

    if texts and inputs:
        raise UsageError("give texts or --input, not both: got both; leave one out")
    if marked := [each for each in inputs or () if Path(each).suffix.lower() in _MARKED]:
        raise UsageError(f"--input must be lines of text: got {marked[0]}; name that document without --input")
    options = opt.decode_options(settings, beam=beam, n_best=n_best)
    options |= {"prefix": prefix, "banned": ban or (), "required": require or ()}
    options |= {"split": not whole, "plain": plain, "number": 0, "mbr": mbr, "samples": samples}
    options["glossary"] = Glossary.load(glossary) if glossary else None
    opening: dict[str, Any] = {"engine": engine, "device": device, "threads": threads}
    choice = ModelChoice(model, source, target, **opening)
    given = [] if not texts or texts == ["-"] else texts
    # A text that ends like no file and names none is no document: the formats, a tenth of the start, stay unread.
    if any(Path(text).suffix or os.path.exists(text) for text in given):
        from regard.cli.documents import named_documents, translate_documents

        if paths := named_documents(given):
            about: dict[str, Any] = {"encoding": encoding, "as_json": as_json, "force": force}
            translate_documents(paths, output, choice, options, memory=memory, dry_run=dry_run, **about)
            return
    if memory or dry_run:
        raise UsageError("--memory and --dry-run are for documents: got texts or lines; name a file such as page.html")
    options["alignment"] = as_json
    with Writer(output, force=force) as writer:
        for answer, end in _translated(choice, given, inputs, options, encoding):
            lines = _shown(answer, options.get("n_best", 1), as_json)
            writer.write("".join(f"{line}{end}" if given else f"{on_one_line(line)}{end}" for line in lines))


def _translated(
    choice: ModelChoice, given: list[str], inputs: list[Path] | None, options: dict[str, Any], encoding: str | None
) -> Iterator[tuple[Translation, str]]:
    """The translations of the given texts, or else of lines as they arrive, each with its line end."""
    from regard.cli.lines import STDIN

    if not given:
        for path in inputs or [STDIN]:
            yield from _translated_lines(path, choice, options, encoding)
        return
    loaded = choice.load_for(given)
    for answer in loaded.translate(given, details=True, **options):
        yield answer, "\n"
    choice.check(given, loaded)


def _shown(answer: Translation, count: int, as_json: bool) -> list[str]:
    """The lines of one answer: JSON, or the best texts, the last one repeated where there are too few."""
    if as_json:
        return [json.dumps(answer.to_dict(), ensure_ascii=False)]
    best = answer.alternatives[:count]
    return best + best[-1:] * (count - len(best))


def _translated_lines(
    path: Path, choice: ModelChoice, options: dict[str, Any], encoding: str | None
) -> Iterator[tuple[Translation, str]]:
    """Translations of lines as they arrive, each with its line's own end."""
    from regard.cli import lines as cli_lines

    of_file = "" if path == cli_lines.STDIN else f" of {path}"
    num_lines = 0
    for lines in cli_lines.arriving_lines(path, encoding):
        sources = [line.text for line in lines]

        def where(place: int, first: int = num_lines + 1) -> str:
            return f"line {first + place}{of_file}"

        model, answers = choice.translate_lines(sources, where=where, **options)
        num_lines += len(lines)
        options["number"] += sum(len(answer.sentences) for answer in answers)
        yield from zip(answers, (line.end for line in lines), strict=True)
        if model is not None:
            choice.check(sources, model)


def translate_corpus(
    inputs: Annotated[list[Path], Argument(metavar="FILE...", help="Texts, one a line (.gz, .xz).")],
    output: Annotated[Path, opt.option("A translation of each file, there.", "FOLDER", "--output", "-o")],
    model: opt.ModelName = None,
    source: opt.From = None,
    target: opt.To = None,
    side: Annotated[
        int | None,
        Option(
            metavar="1|2",
            min=1,
            max=2,
            help="The files hold source TAB target: translate this side only, and write both columns.",
        ),
    ] = None,
    ray: Annotated[opt.Text, opt.option("A Ray cluster: local, auto, or where.", "ADDRESS")] = None,
    workers: Annotated[int | None, opt.option("Processes of the cluster; all by default.")] = None,
    block_bytes: Annotated[int, Option(min=1, help="Bytes translated, and lost if stopped, at a time.")] = 1 << 19,
    beam: opt.Beam = None,
    whole: opt.Whole = False,
    plain: opt.Plain = False,
    settings: Annotated[list[str] | None, opt.search_setting("seed=1")] = None,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
) -> None:
    """Translate files of any size, line by line, here or on a cluster of many machines.

    Each finished block of lines is a file: the same command again continues with the rest. As many lines come out as
    went in, the same ones that translate would write, in the same order; sampled ones are drawn anew for each block.
    """
    from regard.api import load
    from regard.folder.catalogue import find_model
    from regard.translate.corpus import Job, in_this_process, on_ray

    options = opt.decode_options(settings, beam=beam)
    execute = in_this_process(load)
    if ray is not None:
        execute = on_ray(load, ray, workers)
        threads = threads or 1
    job = Job(
        inputs=tuple(str(path.resolve()) for path in inputs),
        output=str(output.resolve()),
        model=str(find_model(model, source, target).resolve()),
        opening={"engine": engine, "device": device, "threads": threads},
        options={**options, "split": not whole, "plain": plain},
        block_bytes=block_bytes,
        side=side,
    )

    def say(text: str) -> None:
        if not quiet:
            print(text, file=sys.stderr, flush=True)

    num_lines = job.run(execute, say)
    say(f"{num_lines:,} lines translated into {output}")
