"""The verb translate: texts, documents, or lines as they arrive."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from regard.cli import options as opt
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.api import Translation
    from regard.cli.lines import Writer
    from regard.cli.model_choice import LanguageCheck, ModelChoice

Show = Callable[["Translation"], list[str]]
"""the lines of one answer"""


def translate(
    texts: Annotated[
        list[str] | None, Argument(help="Texts, or documents by name; nothing or - reads stdin.")
    ] = None,
    model: opt.ModelName = None,
    source: Annotated[
        opt.Text, opt.option("Source language, such as fr; auto detects it.", "CODE", "--from")
    ] = None,
    target: opt.To = None,
    inputs: Annotated[
        list[Path] | None,
        opt.option("Translate these files line by line.", "FILE", "--input", "-i"),
    ] = None,
    output: Annotated[
        opt.File,
        opt.option("Write here, not to stdout; or into this folder.", "FILE", "--output", "-o"),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace an existing output.")] = False,
    encoding: opt.Encoding = None,
    beam: opt.Beam = None,
    n_best: Annotated[int | None, opt.option("Lines written for each input.")] = None,
    prefix: Annotated[str, opt.option("What the output begins with.")] = "",
    ban: Annotated[opt.Texts, opt.option("Not in the output, spelt so.", "WORD")] = None,
    require: Annotated[opt.Texts, opt.option("In the output, spelt so.", "WORD")] = None,
    glossary: Annotated[
        opt.File, opt.option("Words TAB their translations, one a line.", "FILE")
    ] = None,
    whole: opt.Whole = False,
    plain: Annotated[
        bool, Option("--plain", help="Neither normalise texts nor protect addresses and the like.")
    ] = False,
    settings: opt.BeamSettings = None,
    as_json: opt.AsJson = False,
    engine: opt.Engine = "auto",
    device: opt.Device = "auto",
    threads: opt.Threads = None,
) -> None:
    """Translate texts, documents, or stdin line by line.

    As many lines come out as went in, an empty one for an empty one, each as soon as it is known. Documents
    are .txt .md .html .srt .vtt .po .xliff .tmx; everything but their text stays as it is.
    """
    from regard.cli.lines import STDIN, Writer
    from regard.cli.model_choice import LanguageCheck, ModelChoice
    from regard.translate.glossary import Glossary

    if texts and inputs:
        raise UsageError("give texts or --input, not both: got both; leave one out")
    options = opt.decode_options(settings, beam=beam, n_best=n_best)
    options |= {"prefix": prefix, "banned": ban or (), "required": require or ()}
    options |= {"split": not whole, "plain": plain}
    options["glossary"] = Glossary.load(glossary) if glossary else None
    opening = {"engine": engine, "device": device, "threads": threads}
    choice = ModelChoice(model, source, target, opening)
    check = LanguageCheck(is_settled=source is not None)
    given = [] if not texts or texts == ["-"] else texts
    if given:
        from regard.cli.documents import named_documents, translate_documents

        if paths := named_documents(given):
            files: dict[str, Any] = {"encoding": encoding, "as_json": as_json, "force": force}
            translate_documents(paths, output, choice, check, options, **files)
            return
    count = options.get("n_best", 1)
    show: Show = _as_json if as_json else lambda answer: _n_best(answer, count)
    options["alignment"] = as_json
    with Writer(output, force=force) as writer:
        if given:
            loaded = choice.load_for(given)
            for answer in loaded.translate(given, details=True, **options):
                writer.write("".join(f"{line}\n" for line in show(answer)))
            check.add(given, loaded)
        else:
            _translate_lines(inputs or [STDIN], choice, check, options, show, writer)


def _as_json(answer: Translation) -> list[str]:
    return [json.dumps(answer.to_dict(), ensure_ascii=False)]


def _n_best(answer: Translation, count: int) -> list[str]:
    """The best texts, the last one repeated where there are too few."""
    texts = answer.alternatives[:count]
    return texts + texts[-1:] * (count - len(texts))


def _translate_lines(
    paths: list[Path],
    choice: ModelChoice,
    check: LanguageCheck,
    options: dict[str, Any],
    show: Show,
    writer: Writer,
) -> None:
    """Translate lines as they arrive; each answer keeps its line's own end."""
    from regard.cli import lines as cli_lines
    from regard.data.lines import on_one_line

    translate = choice.line_translator()
    number = 0
    for path in paths:
        of_file = "" if path == cli_lines.STDIN else f" of {path}"
        num_lines = 0
        for lines in cli_lines.arriving_lines(path):
            sources = [line.text for line in lines]

            def where(place: int, first: int = num_lines + 1, of_file: str = of_file) -> str:
                return f"line {first + place}{of_file}"

            model, answers = translate(sources, number=number, where=where, **options)
            num_lines += len(lines)
            number += sum(len(answer.sentences) for answer in answers)
            written = [
                f"{on_one_line(text)}{line.end}"
                for line, answer in zip(lines, answers, strict=True)
                for text in show(answer)
            ]
            writer.write("".join(written))
            if model is not None:
                check.add(sources, model)
