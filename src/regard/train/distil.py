"""A small student from a teacher's translations: sequence-level knowledge distillation (Kim and Rush 2016).

runs/small/  distil.json   what was asked for
             reverse/      text of the target language, translated into sources by a reverse teacher
             teacher/      for each source its translation, the mean log-probability of a token, and what went wrong
             pairs.tsv     the pairs kept, source TAB target
             counts.json   lines read, and lines dropped by reason
             model/        the student's training run, and the finished student
             teacher.json  the teacher's scores on the student's test sets

A stage is a file or folder, which is complete when the next one is begun: the same command continues after any end.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from regard.data.lines import decode, raw_lines
from regard.errors import UsageError
from regard.files import write_file
from regard.folder.manifest import read_manifest
from regard.text import is_looping
from regard.train.recipe import Request
from regard.translate.corpus import Execute, Job, Load
from regard.translate.evaluate import Score, evaluate
from regard.translate.translation import Translation

ASKED, REVERSE, TEACHER, PAIRS, COUNTS, MODEL, SCORES = (
    *("distil.json", "reverse", "teacher", "pairs.tsv", "counts.json", "model", "teacher.json"),
)
_FAILED = {"repetition": "loop", "length": "loop", "lost": "lost part", "cut": "too long", "copied": "too long"}
"""flags of a translation that teaches nothing, and what they count as"""
_BLOCK_BYTES = 1 << 22
"""bytes of text that a teacher translates at a time: enough to fill a GPU, and what is lost by a kill"""
_COPY_WORDS = 4
"""words of a copied sentence; names and titles are the same in both languages"""
_HEADING = "\n## Distilled\n"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Distillation:
    """What is asked for."""

    teacher: Path
    text: tuple[Path, ...]
    """files of the source language, a sentence a line"""
    request: Request
    """the student and its training; its pairs of people's translations are kept"""
    reverse: Path | None = None
    """a teacher of the other direction"""
    back_translate: tuple[Path, ...] = ()
    """files of the target language"""
    beam: int = 2
    min_score: float = -1.5
    """mean log-probability of a token below which a translation is dropped"""
    opening: Any = None
    """how the teachers are opened, as for `regard.load`"""
    command: str = ""


class ScoredTeacher:
    """A loaded model whose translations are lines of text, score and what went wrong, with tabs between."""

    def __init__(self, load: Load, folder: str, **opening: Any) -> None:
        self._model = load(folder, **opening)

    def translate(self, texts: list[str], **options: Any) -> list[str]:
        return [_scored(each) for each in self._model.translate(texts, details=True, **options)]


def _scored(translation: Translation) -> str:
    best = [each.candidates[0] for each in translation.sentences]
    values = [value for each in best for value in each.token_log_probabilities]
    flags = {_FAILED[flag] for each in translation.sentences for flag in each.flags if flag in _FAILED}
    score = sum(values) / len(values) if values else 0.0
    return "\t".join([translation.text.replace("\t", " "), f"{score:.3f}", *sorted(flags)[:1]])


def distil(
    asked: Distillation,
    output: Path,
    load: Load,
    executes: tuple[Execute, Execute],
    say: Say,
    *,
    pairs_only: bool = False,
) -> Path:
    """The folder of the finished student, or the file of pairs.

    executes: how a job of the reverse teacher and one of the teacher, whose model is a `ScoredTeacher`, are done. Under
    torchrun the first process makes the pairs, and all train.
    """
    manifest = read_manifest(asked.teacher)
    data = replace(
        asked.request.data, source_language=manifest.source_language, target_language=manifest.target_language
    )
    request = replace(asked.request, data=replace(data, pairs=(str(output / PAIRS), *data.pairs)))
    if int(os.environ.get("RANK", 0)) == 0:
        _begin(asked, request, output)
        if not (output / COUNTS).exists():
            sources = [*asked.text, *_translated(asked, output, executes, say)]
            _keep_pairs(sources, output, asked.min_score, request.data.swapped)
        counts = json.loads((output / COUNTS).read_bytes())
        say(", ".join(f"{number:,} {what}" for what, number in counts.items()))
    if pairs_only:
        return output / PAIRS
    while not (output / COUNTS).exists():
        time.sleep(1)
    _train(request, output / MODEL)
    if int(os.environ.get("RANK", 0)) == 0:
        _describe(asked, request, output, load, say)
    return output / MODEL


def _begin(asked: Distillation, request: Request, output: Path) -> None:
    """Refuse to go on with what was begun otherwise."""
    wanted = {**asdict(asked), "request": asdict(request), "opening": None, "command": ""}
    wanted = json.loads(json.dumps(wanted, default=str))
    if not (output / ASKED).exists():
        if output.is_file() or output.exists() and any(output.iterdir()):
            raise UsageError(f"--output must be a new or empty folder: {output} holds other files; name another")
        output.mkdir(parents=True, exist_ok=True)
        write_file(output / ASKED, json.dumps(wanted, indent=1).encode())
    begun = json.loads((output / ASKED).read_bytes())
    for key in wanted:
        if begun.get(key) != wanted[key]:
            raise UsageError(
                f"{output} was begun with another {key.replace('_', '-')}: go on with the same, or name another folder"
            )


def _translated(asked: Distillation, output: Path, executes: tuple[Execute, Execute], say: Say) -> list[Path]:
    """Let the teachers translate; the sources that the reverse teacher made."""
    how = (asked.opening or {}, {"beam": asked.beam, "split": False}, _BLOCK_BYTES)
    made: list[Path] = []
    if asked.reverse is not None:
        inputs = tuple(map(str, asked.back_translate))
        Job(inputs, str(output / REVERSE), str(asked.reverse), *how).run(executes[0], say)
        made = [output / REVERSE / _plain(path) for path in asked.back_translate]
    inputs = tuple(map(str, [*asked.text, *made]))
    Job(inputs, str(output / TEACHER), str(asked.teacher), *how).run(executes[1], say)
    return made


def _plain(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".xz")


def _keep_pairs(sources: Sequence[Path], output: Path, min_score: float, swapped: bool) -> None:
    """Write the pairs worth learning from, each once, and count the others.

    Pairs of unlike lengths or in a wrong language are left out by the training, which measures what is usual.
    """
    counts = Counter({"lines": 0, "pairs kept": 0})
    seen: set[int] = set()
    unfinished = output / f"{PAIRS}.unfinished"
    with unfinished.open("w", encoding="utf-8", newline="\n") as file:
        for path in sources:
            for raw, line in zip(raw_lines(path), raw_lines(output / TEACHER / _plain(path)), strict=True):
                source = decode(raw)[0].replace("\t", " ").strip()
                target, score, *flags = (decode(line)[0] or "\t0").split("\t")
                target, key = target.strip(), hash(source)
                reason = (
                    "empty"
                    if not source or not target
                    else flags[0]
                    if flags
                    else "loop"
                    if is_looping(target.split()) and not is_looping(source.split())
                    else "copy"
                    if source == target and len(source.split()) >= _COPY_WORDS
                    else "low score"
                    if float(score) < min_score
                    else "duplicate"
                    if key in seen
                    else "pairs kept"
                )
                seen.add(key)
                counts.update(["lines", reason])
                if reason == "pairs kept":
                    file.write(f"{target}\t{source}\n" if swapped else f"{source}\t{target}\n")
    os.replace(unfinished, output / PAIRS)
    write_file(output / COUNTS, json.dumps(counts).encode())


def _train(request: Request, folder: Path) -> None:
    from regard.train.finish import RESULT
    from regard.train.plan import RUN_FILE
    from regard.train.run import train

    if not (folder / RESULT).exists():
        train(request, folder, resume=(folder / RUN_FILE).exists())


def _describe(asked: Distillation, request: Request, output: Path, load: Load, say: Say) -> None:
    """Add the teacher, the text and the teacher's scores to the student's card."""
    from regard.train.corpora import read_test_sets
    from regard.train.finish import RESULT

    card = output / MODEL / "README.md"
    text = card.read_text("utf-8").split(_HEADING)[0]
    if not (output / SCORES).exists():
        sets = read_test_sets(request.data)
        if sets:
            teacher = load(str(asked.teacher), **(asked.opening or {}))
        scores = [
            str(evaluate(teacher.translate(sources, split=False), references, name=name))
            for name, sources, references in sets
        ]
        write_file(output / SCORES, json.dumps(scores).encode())
    teachers = json.loads((output / SCORES).read_bytes())
    own = json.loads((output / MODEL / RESULT).read_bytes())["scores"][1:]  # the first is the validation's
    for who, scores in (("student", [str(Score(**each)) for each in own]), ("teacher", teachers)):
        for score in scores:
            say(f"{who} on {score}")
    counts = json.loads((output / COUNTS).read_bytes())
    about = (asked.teacher / "README.md").read_text("utf-8") if (asked.teacher / "README.md").exists() else ""
    licence = next((line for line in about.splitlines() if line.startswith("license:")), "license: see its maker's")
    texts = [path.name for path in (*asked.text, *asked.back_translate, *map(Path, request.data.pairs[1:]))]
    lines = [
        _HEADING,
        f"The targets are translations of the teacher `{asked.teacher.name}` ({licence}) at beam {asked.beam}"
        + (f"; `{asked.reverse.name}` made sources" if asked.reverse else "")
        + "; people's translations are those of the files of pairs.",
        "",
        f"- text: {', '.join(dict.fromkeys(texts))}; its licences are those of its publishers",
        f"- {', '.join(f'{number:,} {what}' for what, number in counts.items())}",
        f"- command: `{asked.command}`",
        *(f"- teacher on {score}" for score in teachers),
        "",
    ]
    write_file(card, (text + "\n".join(lines)).encode())
