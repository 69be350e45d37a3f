"""Whole documents, for the verb translate."""

import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from regard.api import Model, Translation
from regard.cli.lines import Writer, check_output, portions
from regard.cli.model_choice import ModelChoice
from regard.documents.document import ARCHIVES, SUFFIXES, TranslatedDocument, segment_texts, translate_document
from regard.documents.memory import Memory
from regard.documents.plain import check_target, declared_languages
from regard.documents.rendering import TranslatedText
from regard.errors import DataError, RegardWarning, UsageError

_MAX_BYTES = 1 << 28
_NAME_SUFFIXES = (*SUFFIXES, *".csv .doc .json .pdf .ppt .rst .rtf .tex .tsv .xlsx .xml".split())
"""an argument with such a suffix is a file's name, not a text"""


def named_documents(texts: Sequence[str]) -> list[Path]:
    """The documents that the arguments name; empty where they are texts."""
    paths = [Path(text) for text in texts if _is_name(text, is_alone=len(texts) == 1)]
    if paths and len(paths) < len(texts):
        raise UsageError(f"give texts or documents, not both: got {paths[0]} and a text; translate them one by one")
    for path in paths:
        if path.suffix.lower() not in SUFFIXES or path.is_dir():
            advice = f"save it as one of these, or pipe text line by line:  regard translate < {path}"
            raise UsageError(f"a document must be a file of {' '.join(SUFFIXES)}: got {path}; {advice}")
        if not path.is_file():
            raise UsageError(f"{path} must be a file: there is none; check its name, or give a text on standard input")
    return paths


def _is_name(text: str, *, is_alone: bool) -> bool:
    """Whether a text ends like a file's name and has no white space, or a file of that name exists."""
    is_like = Path(text).suffix.lower() in _NAME_SUFFIXES
    return is_like and len(text.split()) == 1 or os.path.exists(text) and (is_like or is_alone)


def translate_documents(
    paths: Sequence[Path],
    output: Path | None,
    choice: ModelChoice,
    options: dict[str, Any],
    *,
    encoding: str | None,
    as_json: bool,
    force: bool,
    memory: Path | None = None,
    dry_run: bool = False,
) -> None:
    """Translate each document; with JSON a line for each segment goes to stdout instead of the document.

    memory: a translation memory, read and written. dry_run: only count the segments.
    """
    if dry_run:
        with Writer(None) as writer:
            for path in paths:
                with _naming(path):
                    counts = _count(path, encoding, choice, memory)
                shown = f"{path}: " + ", ".join(f"{number} {what}" for what, number in counts.items()) + "\n"
                writer.write(json.dumps({"file": str(path), **counts}) + "\n" if as_json else shown)
        return
    if options.get("n_best", 1) > 1 and not as_json:
        raise UsageError("a document has one translation: got --n-best; add --json to see others")
    for path, target in zip(paths, _outputs(paths, output, force), strict=True):
        if target is None and not as_json and path.suffix.lower() in ARCHIVES and sys.stdout.isatty():
            raise UsageError(f"a terminal cannot show a {path.suffix} file: got no --output; name a file with -o")
        with _naming(path):
            document, answers = _translate(path, encoding, choice, options, memory)
        for warning in document.warnings:
            warnings.warn(f"{path}: {warning}", RegardWarning, stacklevel=2)
        if target is not None or not as_json:
            with Writer(target, force=force) as writer:
                writer.write_bytes(document.data)
        if as_json:
            with Writer(None) as writer:
                for segment in document.segments:
                    found = answers.get(segment.source)
                    answer = {"file": str(path), "source": segment.source, **(found.to_dict() if found else {})}
                    writer.write_json(answer | {"written": segment.written, "doubt": segment.doubt})


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Errors name the document."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except OSError as error:
        raise DataError(f"{path} must be a readable file: {error.strerror}; check it") from error


def _read(path: Path) -> tuple[bytes, str]:
    if (size := path.stat().st_size) > _MAX_BYTES:
        raise DataError(f"it must have at most {_MAX_BYTES >> 20} MiB: got {size >> 20}; cut it in parts")
    return path.read_bytes(), path.suffix.lower()


def _load(data: bytes, suffix: str, encoding: str | None, choice: ModelChoice, segments: list[str]) -> Model:
    """The model for the languages that the file declares, else for that of its text."""
    model = choice.load_for(segments, declared_languages(data, suffix, encoding))
    check_target(data, suffix, model.manifest.target_language, encoding)
    return model


def _count(path: Path, encoding: str | None, choice: ModelChoice, memory: Path | None) -> dict[str, int]:
    data, suffix = _read(path)
    segments = segment_texts(data, suffix, encoding)
    words = [word for text in segments for word in text.split() if any(map(str.isalnum, word))]
    counts = {"segments": len(segments), "different": len(set(segments)), "words": len(words)}
    if memory is not None:
        known = Memory(memory, _load(data, suffix, encoding, choice, segments).manifest.languages)
        counts["in the memory"] = sum(segment in known for segment in segments)
    return counts


def _translate(
    path: Path, encoding: str | None, choice: ModelChoice, options: dict[str, Any], memory: Path | None
) -> tuple[TranslatedDocument, dict[str, Translation]]:
    """The document, and what became of each of its texts."""
    data, suffix = _read(path)
    segments = segment_texts(data, suffix, encoding)
    model = _load(data, suffix, encoding, choice, segments)
    choice.check(segments, model)
    known = Memory(memory, model.manifest.languages) if memory is not None else None
    answers: dict[str, Translation] = {}

    def translate(texts: list[str]) -> list[Translation]:
        found: list[Translation] = []
        for portion in portions(texts, path.name):
            options["number"] = sum(len(each.sentences) for each in found)
            found += model.translate(portion, details=True, alignment=True, **options)
        answers.update(zip(texts, found, strict=True))
        return found

    def remember(texts: list[str]) -> Sequence[TranslatedText]:
        return known.translate(texts, translate) if known else translate(texts)

    document = translate_document(data, suffix, remember, languages=model.manifest.languages, encoding=encoding)
    if known:
        known.save()
    return document, answers


def _outputs(paths: Sequence[Path], output: Path | None, force: bool) -> Sequence[Path | None]:
    """Where each document goes, checked before anything is translated."""
    if output is None and len(paths) == 1:
        return [None]
    if output is None or not output.is_dir() and len(paths) > 1:
        got = "got none" if output is None else f"{output} is not one"
        raise UsageError(f"{len(paths)} documents need a folder to go to: {got}; make one and name it with --output")
    targets = [output / path.name for path in paths] if output.is_dir() else [output]
    for place, target in enumerate(targets):
        if target in targets[:place]:
            raise UsageError(f"documents for one folder need different names: got {target.name} twice; rename one")
        check_output(target, force)
    return targets
