"""What `translate` does with whole documents."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.lines import Writer, check_output, with_progress
from regard.documents import SUFFIXES, TranslatedDocument, segment_texts, translate_document
from regard.errors import DataError, RegardWarning, UsageError

if TYPE_CHECKING:
    from regard.api import Model, Translation

_MOST_BYTES = 1 << 28

_OF_OFFICES = frozenset(".doc .docx .odt .rtf .pdf .ppt .pptx .odp .xls .xlsx .ods .epub".split())
"""what is no text when it is piped"""
_OTHER_SUFFIXES = _OF_OFFICES | frozenset(".csv .json .rst .tex .tsv .xml".split())
"""of documents that cannot be read here: who names one means no text"""


def named_documents(texts: Sequence[str]) -> list[Path]:
    """The documents that the arguments name; empty where they are texts."""
    if len(texts) == 1:
        _check_kind(texts[0])
    paths = [Path(text) for text in texts if _is_name(text)]
    if paths and len(paths) < len(texts):
        raise UsageError(
            f"give texts or documents, not both: got {paths[0]} and a text; translate them one by one"
        )
    for path in paths:
        if not path.is_file():
            raise UsageError(
                f"{path} must be a file: there is none; check its name, or give a text on standard input"
            )
    return paths


def _check_kind(text: str) -> None:
    """A text that is all the name of something there is surely meant as that."""
    try:
        path = Path(text)
        if not text or not path.exists() or path.is_file() and path.suffix.lower() in SUFFIXES:
            return
    except (OSError, ValueError):  # too long for a name, or with a null
        return
    advice = f"pipe it to have it line by line:  regard translate < {path}"
    if path.suffix.lower() in _OF_OFFICES:
        advice = "save it as .html or .txt first, in the program that wrote it"
    if path.is_dir():
        advice = "name the files in this folder, or give a text on standard input"
    raise UsageError(f"a document must be one of {' '.join(SUFFIXES)}: got {path}; {advice}")


def _is_name(text: str) -> bool:
    """A text may end like a file's name, but then it has a space or is a file's name."""
    suffix = Path(text).suffix.lower()
    if not (suffix in SUFFIXES or suffix in _OTHER_SUFFIXES) or "\n" in text or len(text) > 1000:
        return False
    return not any(map(str.isspace, text)) or Path(text).is_file()


def translate_documents(
    paths: Sequence[Path],
    output: Path | None,
    open_model: Callable[[list[str]], Model],
    options: dict[str, Any],
    *,
    encoding: str | None = None,
    as_json: bool = False,
    force: bool = False,
) -> None:
    """Translate each document with the model that is opened for its texts.

    With JSON a line for each segment goes to stdout, and the documents only where an output is named.
    """
    if options.get("n_best", 1) > 1 and not as_json:
        raise UsageError(
            "a document has one translation: got --n-best; add --json to see the others"
        )
    outputs = _outputs(paths, output, force)
    for path, target in zip(paths, outputs, strict=True):
        try:
            data = _read(path)
            model = open_model(segment_texts(data, path.suffix.lower(), encoding))
            answers: dict[str, Translation] = {}
            document = _translate(path, data, model, options, encoding, answers)
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        for warning in document.warnings:
            warnings.warn(f"{path}: {warning}", RegardWarning, stacklevel=2)
        if target is not None or not as_json:
            with Writer(target, force=force) as writer:
                writer.write_bytes(document.data)
        if as_json:
            with Writer(None) as writer:
                writer.write("".join(_json_lines(path, document, answers)))


def _outputs(paths: Sequence[Path], output: Path | None, force: bool) -> list[Path | None]:
    """Where each document goes; refused before anything is translated."""
    if output is None:
        if len(paths) > 1:
            raise UsageError(
                f"{len(paths)} documents need a folder to go to: got none; name one with --output"
            )
        return [None]
    if not output.is_dir():
        if len(paths) > 1:
            raise UsageError(
                f"--output must be a folder for {len(paths)} documents: {output} is none; make it first"
            )
        check_output(output, force)
        return [output]
    targets: list[Path | None] = []
    for path in paths:
        target = output / path.name
        if target in targets:
            raise UsageError(
                f"documents for one folder must have different names: got {path.name} twice; "
                "translate them one by one"
            )
        check_output(target, force)
        targets.append(target)
    return targets


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(
                f"a document must have at most {_MOST_BYTES >> 20} MiB: got {path.stat().st_size >> 20}; "
                "cut it into several"
            )
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"it must be a readable file: {error.strerror}; check it") from error


def _translate(
    path: Path,
    data: bytes,
    model: Model,
    options: dict[str, Any],
    encoding: str | None,
    answers: dict[str, Translation],
) -> TranslatedDocument:
    number = 0

    def translate(texts: list[str]) -> list[Translation]:
        nonlocal number
        found: list[Translation] = []
        for portion in with_progress(texts, path.name):
            found += model.translate(
                portion, details=True, alignment=True, number=number, **options
            )
            number = sum(len(each.sentences) for each in found)
        answers.update(zip(texts, found, strict=True))
        return found

    languages = (model.manifest.source_language, model.manifest.target_language)
    return translate_document(
        data, path.suffix.lower(), translate, languages=languages, encoding=encoding
    )


def _json_lines(
    path: Path, document: TranslatedDocument, answers: dict[str, Translation]
) -> list[str]:
    lines = []
    for segment in document.segments:
        answer = answers[segment.source].to_dict() if segment.source in answers else {}
        answer = {"file": str(path), "source": segment.source, **answer}
        answer |= {"written": segment.written, "doubt": segment.doubt}
        lines.append(json.dumps(answer, ensure_ascii=False) + "\n")
    return lines
