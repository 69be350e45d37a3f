"""The verb translate: texts, documents, or lines as they arrive."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.options import (
    AsJson,
    Beam,
    BeamSettings,
    Device,
    Engine,
    ModelName,
    Threads,
    To,
    decode_options,
)
from regard.errors import RegardWarning, UsageError

if TYPE_CHECKING:
    from regard.api import Model, Translation
    from regard.cli.lines import Writer

Show = Callable[["Translation"], list[str]]
"""the lines of one answer"""

Texts = Annotated[
    list[str] | None,
    typer.Argument(help="Texts, or documents by name; nothing or - reads stdin."),
]
FromOrAuto = Annotated[
    str | None,
    typer.Option("--from", metavar="CODE", help="Source language, such as fr; auto finds out."),
]
Inputs = Annotated[
    list[Path] | None,
    typer.Option("--input", "-i", metavar="FILE", help="Translate these files line by line."),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write here, not to stdout; or into this folder."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace an output that is there.")]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", metavar="NAME", help="Of documents that do not declare it."),
]
NumBest = Annotated[
    int | None, typer.Option("--n-best", help="Write so many lines for each input.")
]
Prefix = Annotated[str, typer.Option("--prefix", help="What the output begins with.")]
Banned = Annotated[
    list[str] | None, typer.Option("--ban", metavar="WORD", help="Not in the output, spelt so.")
]
Required = Annotated[
    list[str] | None, typer.Option("--require", metavar="WORD", help="In the output, spelt so.")
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option("--glossary", metavar="FILE", help="Words and how to translate them, with tabs."),
]
Whole = Annotated[
    bool, typer.Option("--whole", help="Take each text as one sentence, not to be cut.")
]


def translate(
    texts: Texts = None,
    model: ModelName = None,
    source: FromOrAuto = None,
    target: To = None,
    inputs: Inputs = None,
    output: Output = None,
    force: Force = False,
    encoding: Encoding = None,
    beam: Beam = None,
    n_best: NumBest = None,
    prefix: Prefix = "",
    ban: Banned = None,
    require: Required = None,
    glossary: GlossaryFile = None,
    whole: Whole = False,
    settings: BeamSettings = None,
    as_json: AsJson = False,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = None,
) -> None:
    """Translate texts, documents, or stdin line by line.

    As many lines come out as went in, an empty one for an empty one, each as soon as it is known. Documents
    are .txt .md .html .srt .vtt .po .xliff .tmx; all but their text stays as it is.
    """
    from regard.cli import lines as cli_lines
    from regard.translate.glossary import Glossary

    if texts and inputs:
        raise UsageError("give texts or --input, not both: got both; leave one out")
    options = decode_options(settings, beam=beam, n_best=n_best)
    options |= {"prefix": prefix, "banned": ban or (), "required": require or ()}
    options |= {"split": not whole, "glossary": Glossary.load(glossary) if glossary else None}
    opening = {"engine": engine, "device": device, "threads": threads}
    choice = _Choice(model, source, target, opening)
    doubt = _Doubt(is_sure=source is not None)
    given = [] if not texts or texts == ["-"] else texts
    if given:
        from regard.cli import documents as cli_documents

        if documents := cli_documents.named_documents(given):
            cli_documents.translate_documents(
                documents,
                output,
                functools.partial(_open_with_doubt, choice, doubt),
                options,
                encoding=encoding,
                as_json=as_json,
                force=force,
            )
            return
    as_text = functools.partial(cli_lines.as_text, count=options.get("n_best", 1))
    show: Show = cli_lines.as_json if as_json else as_text
    options["alignment"] = as_json
    with cli_lines.Writer(output, force=force) as writer:
        if given:
            _translate_texts(given, choice, doubt, options, show, writer)
        else:
            _translate_lines(inputs or [Path("-")], choice, doubt, options, show, writer)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which model is asked for, and how it is to run."""

    model: str | None
    source: str | None
    target: str | None
    opening: dict[str, Any]

    @property
    def needs_texts(self) -> bool:
        """Whether the first texts are to choose it."""
        return self.source == "auto"

    def open_for(self, texts: Sequence[str]) -> Model:
        from regard.folder.catalogue import DEFAULT_LANGUAGES, direction_of, source_language_of

        source, target = self.source, self.target
        if self.needs_texts:  # a model that is named has its language
            source = None if self.model else source_language_of(texts, target)
        elif not (self.model or source or target):
            source, target = direction_of(texts)
            if (source, target) != DEFAULT_LANGUAGES:
                warnings.warn(
                    f"the text is in {source}, so it is translated into {target}: "
                    f"say --to {source} to have it read as {target}",
                    RegardWarning,
                    stacklevel=2,
                )
        return self._load(source, target)

    def for_lines(self) -> Callable[..., tuple[Model | None, list[Translation]]]:
        """What translates lines as they arrive, and says which model it was."""
        if self.needs_texts and not self.model:
            from regard.cli.auto import ByLanguage

            return ByLanguage(self._load, self.target).translate
        opened, is_decided = None, bool(self.model or self.source or self.target)

        def translate(texts: Sequence[str], **options: Any) -> tuple[Model, list[Translation]]:
            """Where nothing is named, the first lines with letters enough tell which way."""
            nonlocal opened, is_decided
            if not is_decided and _tell_direction(texts):
                opened, is_decided = self.open_for(texts), True
            opened = opened or self.open_for(())
            return opened, opened.translate(texts, details=True, **options)

        return translate

    def _load(self, source: str | None, target: str | None) -> Model:
        from regard.api import load

        return load(self.model, source_language=source, target_language=target, **self.opening)


def _tell_direction(texts: Sequence[str]) -> bool:
    from regard.folder.catalogue import DEFAULT_LANGUAGES, direction_of
    from regard.text.language import has_enough

    return direction_of(texts) != DEFAULT_LANGUAGES or has_enough(" ".join(texts))


@dataclass(slots=True)
class _Doubt:
    """Says, once, that the text is surely not in the language that the model reads.

    To tell the language takes time, so what is translated is to be written first.
    """

    is_sure: bool
    seen: str = ""

    def look_at(self, texts: Sequence[str], model: Model) -> None:
        if self.is_sure:
            return
        from regard.text import language

        self.seen = " ".join([self.seen, *texts])[: language.NUM_CHARACTERS_RANKED]
        found, reads = language.sure_language(self.seen), model.manifest.source_language
        if not found and not language.has_enough(self.seen):
            return
        self.is_sure = True
        if found and reads and found != language.main_language(reads):
            warnings.warn(
                f"the text seems to be in {found}, and {model.folder.name} reads {reads}: "
                + _advice(found),
                RegardWarning,
                stacklevel=2,
            )


def _advice(language: str) -> str:
    from regard.folder.catalogue import available

    for info in available():
        if info.manifest.task == "translate" and info.languages[0] == language:
            return f"try --model {info.name}, or --from auto"
    return "no model that is installed reads that"


def _open_with_doubt(choice: _Choice, doubt: _Doubt, texts: Sequence[str]) -> Model:
    model = choice.open_for(texts)
    doubt.look_at(texts, model)
    return model


def _translate_texts(
    texts: Sequence[str],
    choice: _Choice,
    doubt: _Doubt,
    options: dict[str, Any],
    show: Show,
    writer: Writer,
) -> None:
    model = choice.open_for(texts)
    for answer in model.translate(texts, details=True, **options):
        writer.write("".join(f"{line}\n" for line in show(answer)))
    doubt.look_at(texts, model)


def _translate_lines(
    paths: Iterable[Path],
    choice: _Choice,
    doubt: _Doubt,
    options: dict[str, Any],
    show: Show,
    writer: Writer,
) -> None:
    """Line by line as they arrive, each answer with the line's own end."""
    from regard.cli import lines as cli_lines

    # The model is opened while the first lines are on their way, unless they are to choose it.
    translate = choice.for_lines()
    number = 0
    for path in paths:
        num_lines = 0
        for lines in cli_lines.arriving_lines([path]):
            sources = [line.text for line in lines]
            where = functools.partial(_line_name, path, num_lines + 1)
            model, answers = translate(sources, number=number, where=where, **options)
            num_lines += len(lines)
            number += sum(len(answer.sentences) for answer in answers)
            writer.write(
                "".join(
                    f"{cli_lines.on_one_line(text)}{line.end}"
                    for line, answer in zip(lines, answers, strict=True)
                    for text in show(answer)
                )
            )
            if model is not None:
                doubt.look_at(sources, model)


def _line_name(path: Path, first: int, place: int) -> str:
    """What a message calls a line."""
    return f"line {first + place}" if path == Path("-") else f"line {first + place} of {path}"
