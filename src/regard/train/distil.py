"""A small student from a teacher's translations: sequence-level knowledge distillation (Kim and Rush 2016).

A stage is a file or folder (docs/how-to/distil.md): the same command continues after any end.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regard.data.lines import decode, raw_lines
from regard.files import write_file, writing
from regard.folder.checkpoint import licence_of
from regard.folder.manifest import read_manifest
from regard.text import is_looping
from regard.train.recipe import Request
from regard.translate.corpus import Execute, Job, Load
from regard.translate.evaluate import Score, evaluate
from regard.translate.translation import Translation

PAIRS, COUNTS, MODEL = "pairs.tsv", "counts.json", "model"
_FAILED = {"repetition": "loop", "length": "loop", "lost": "lost part", "cut": "too long", "copied": "too long"}
"""flags of a translation that teaches nothing, and what they count as"""
_BLOCK_BYTES = 1 << 22
"""bytes of text that a teacher translates at a time: enough to fill a GPU, and what is lost by a kill"""
_COPY_WORDS = 4  # words of a copied sentence; names and titles are the same in both languages
_HEADING = "\n## Distilled\n"


@dataclass(frozen=True)
class Distillation:
    """What is asked for."""

    teacher: Path
    text: tuple[Path, ...]
    """files of the source language, a sentence a line"""
    request: Request  # the student and its training; its pairs of people's translations are kept
    reverse: Path | None = None  # a teacher of the other direction
    back_translate: tuple[Path, ...] = ()  # files of the target language
    beam: int = 2
    min_score: float = -1.5
    """mean log-probability of a token below which a translation is dropped"""
    opening: dict[str, Any] = field(default_factory=dict)  # options of `regard.load` for the teachers
    command: str = ""


class JudgedTeacher:
    """A loaded model whose translations have a tab and a reason behind them, which is empty where they are good."""

    def __init__(self, load: Load, folder: str, **opening: Any) -> None:
        self._model = load(folder, **opening)

    def translate(self, texts: list[str], min_score: float, **options: Any) -> list[str]:
        found = self._model.translate(texts, details=True, **options)
        return [each.text.replace("\t", " ").strip() + "\t" + _flaw(each, min_score) for each in found]


def _flaw(translation: Translation, min_score: float) -> str:
    source, target = translation.source.strip(), translation.text.strip()
    for flag in (flag for each in translation.sentences for flag in each.flags if flag in _FAILED):
        return _FAILED[flag]
    if not target:
        return "empty"
    if is_looping(target.split()) and not is_looping(source.split()):
        return "loop"
    if source == target and len(source.split()) >= _COPY_WORDS:
        return "copy"
    values = [value for each in translation.sentences for value in each.candidates[0].token_log_probabilities]
    return "low score" if sum(values) < min_score * len(values) else ""


def distil(
    asked: Distillation, output: Path, load: Load, executes: tuple[Execute, Execute], say: Callable[[str], None]
) -> Callable[[], Path]:
    """Make the pairs; what is returned trains the student and gives its folder.

    executes: how a job of the reverse teacher and one of the teacher, whose model is a `JudgedTeacher`, are done. Under
    torchrun the first process makes the pairs, and all train.
    """
    manifest = read_manifest(asked.teacher)
    data = replace(asked.request.data, pairs=(str(output / PAIRS), *asked.request.data.pairs))
    data = replace(data, source_language=manifest.source_language, target_language=manifest.target_language)
    request = replace(asked.request, data=data)
    is_first = int(os.environ.get("RANK", 0)) == 0
    if is_first:
        sources = _translate(asked, output, executes, say)
        if not (output / COUNTS).exists():
            _keep_pairs(sources, output, data.swapped)
        say(_counted(output))
    while not (output / COUNTS).exists():
        time.sleep(1)

    def train() -> Path:
        from regard.train.plan import RUN_FILE
        from regard.train.run import train

        train(request, output / MODEL, resume=(output / MODEL / RUN_FILE).exists())
        if is_first:
            _describe(asked, request, output, load, say)
        return output / MODEL

    return train


def _translate(
    asked: Distillation, output: Path, executes: tuple[Execute, Execute], say: Callable[[str], None]
) -> list[Path]:
    """Let the teachers translate; all files of sources."""
    options: dict[str, Any] = {"beam": asked.beam, "split": False}
    sources = list(asked.text)
    if asked.reverse is not None:
        inputs, folder = tuple(map(str, asked.back_translate)), output / "reverse"
        Job(inputs, str(folder), str(asked.reverse), asked.opening, options, _BLOCK_BYTES).run(executes[0], say)
        sources += [folder / _plain(path) for path in asked.back_translate]
    job = Job(tuple(map(str, sources)), str(output / "teacher"), str(asked.teacher), asked.opening)
    options = {**options, "min_score": asked.min_score}
    replace(job, options=options, block_bytes=_BLOCK_BYTES).run(executes[1], say)
    return sources


def _plain(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".xz")


def _keep_pairs(sources: Sequence[Path], output: Path, swapped: bool) -> None:
    """Write the pairs worth learning from, each source once, and count the others.

    Pairs of unlike lengths or in a wrong language are left out by the training, which measures what is usual.
    """
    counts = Counter({"lines": 0, "kept": 0})
    seen: set[str] = set()
    with writing(output / PAIRS) as file:
        for path in sources:
            for raw, line in zip(raw_lines(path), raw_lines(output / "teacher" / _plain(path)), strict=True):
                source = decode(raw)[0].replace("\t", " ").strip()
                target, _, reason = decode(line)[0].partition("\t")
                reason = reason or ("duplicate" if source in seen else "kept")
                seen.add(source)
                counts.update(["lines", reason])
                if reason == "kept":
                    file.write((f"{target}\t{source}\n" if swapped else f"{source}\t{target}\n").encode())
    write_file(output / COUNTS, json.dumps(counts).encode())


def _counted(output: Path) -> str:
    counts = json.loads((output / COUNTS).read_bytes())
    return "the teacher's text: " + ", ".join(f"{number:,} {what}" for what, number in counts.items())


def _describe(asked: Distillation, request: Request, output: Path, load: Load, say: Callable[[str], None]) -> None:
    """Add the teacher, the text and the teacher's scores to the student's card."""
    from regard.train.corpora import read_test_sets
    from regard.train.plan import RESULT

    path = output / "teacher.json"
    if not path.exists():
        teacher, scores = None, list[dict[str, Any]]()
        for name, sources, references in read_test_sets(request.data):
            teacher = teacher or load(str(asked.teacher), **asked.opening)
            scores.append(evaluate(teacher.translate(sources, split=False), references, name=name).to_dict())
        write_file(path, json.dumps(scores).encode())
    own = json.loads((output / MODEL / RESULT).read_bytes())["scores"][1:]  # the first is the validation's
    scored = {"student": own, "teacher": json.loads(path.read_bytes())}
    results = [f"{who} on {Score(**each)}" for who, scores in scored.items() for each in scores]
    say("\n".join(results))
    texts = [path.name for path in (*asked.text, *asked.back_translate, *map(Path, request.data.pairs[1:]))]
    made = f"; sources by `{asked.reverse.name}`" if asked.reverse else ""
    facts = [
        f"teacher: `{asked.teacher.name}` (license: {licence_of(asked.teacher)}), beam {asked.beam}{made}",
        f"text: {', '.join(dict.fromkeys(texts))}; it has the licences of its publishers",
        _counted(output),
        f"command: `{asked.command}`",
        *results,
    ]
    card = output / MODEL / "README.md"
    text = card.read_text("utf-8").split(_HEADING)[0] + _HEADING + "\n" + "".join(f"- {fact}\n" for fact in facts)
    write_file(card, text.encode())
