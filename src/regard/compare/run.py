"""`regard.compare`: train or load the models of a comparison, measure them, write the report.

compare/   study.json     the recipe as it was read
           text/          the corpora, made ready
           models/        the training runs
           results/       everything that was measured; the report is made from this alone
           figures/       PNGs
           report.html    all of it on one page
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from pathlib import Path
from typing import Any

import torch

from regard.compare.gather import gather
from regard.compare.report import write_report
from regard.compare.schemes import judge_schemes
from regard.compare.study import Study, parse_study, read_study, save_study
from regard.compare.tasks import RESULTS, Task, model_tasks, recall_tasks, speed_tasks
from regard.compare.texts import Text, prepare
from regard.config import ModelConfig, shape_of
from regard.data.workers import Message, Workers
from regard.errors import TrainingError, UsageError
from regard.files import write_file
from regard.train.device import choose_device
from regard.train.stream import num_cores
from regard.translate.evaluate import require_metrics

STUDY = "study.json"
REPORT = "report.html"


def compare(
    recipe: str | dict[str, Any],
    output: str | Path,
    *,
    data: str | Path = "data",
    jobs: int | None = None,
    only_report: bool = False,
    show_progress: bool = True,
) -> Path:
    """Do what a comparison has left to do, and write its report; the path of the report.

    recipe: a named comparison, a TOML file, or what such a file holds. data: where files named data/… are.
    jobs: tasks at the same time; without it one for each core of a CPU, one on a GPU. only_report: train nothing, take what was measured before.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs must be at least 1: got {jobs}; give a larger one")
    require_metrics()
    study = read_study(recipe) if isinstance(recipe, str) else parse_study(recipe, "recipe")
    output, say = Path(output), _speaker(show_progress)
    if only_report:
        if not (output / STUDY).is_file():
            raise UsageError(
                f"--only-report needs what an earlier comparison has measured: {output} holds none; "
                "leave it out"
            )
        study = parse_study(json.loads((output / STUDY).read_text("utf-8")), str(output))
    else:
        _begin(study, output)
        _do_everything(study, output, Path(data), jobs or _num_jobs(study), say)
    report = write_report(gather(study, output), output)
    say(f"{report}: {report.stat().st_size / 1e6:.1f} MB")
    return report


def _num_jobs(study: Study) -> int:
    """A small model keeps one core busy and no more; a GPU it keeps to itself."""
    wanted = {each.recipe.train.device for each in study.contenders.values()}
    on_gpu = any(choose_device(device).type == "cuda" for device in wanted)
    return 1 if on_gpu else num_cores()


def _begin(study: Study, output: Path) -> None:
    """Refuse a folder that holds another comparison: its results would be mixed with these."""
    path = output / STUDY
    if output.exists() and not output.is_dir():
        raise UsageError(f"--output must be a folder: {output} is a file; name another place")
    if path.is_file():
        if json.loads(path.read_text("utf-8")) != json.loads(json.dumps(study.values)):
            raise UsageError(
                f"--output must be new, or hold this comparison: {output} holds another; "
                "name another folder, or remove it"
            )
        return
    if output.exists() and any(output.iterdir()):
        raise UsageError(
            f"--output must be a new or empty folder: {output} holds files; name another"
        )
    output.mkdir(parents=True, exist_ok=True)
    save_study(study, path)


def _do_everything(
    study: Study, output: Path, data: Path, jobs: int, say: Callable[[str], None]
) -> None:
    study = dataclasses.replace(
        study,
        corpora={
            name: (config, recipe.with_files(data))
            if _is_missing(output, name)
            else (config, recipe)
            for name, (config, recipe) in study.corpora.items()
        },
    )
    texts = {}
    for name in study.corpus_names:
        texts[name] = prepare(study, name, output / "text" / name, say)
        about = texts[name].about
        say(
            f"{name}: {about['train']:,} pairs to train on, {about['valid']:,} to validate, "
            f"{about['test']:,} to score, {about['pieces']:,} pieces"
        )
        _save_test(texts[name], output / RESULTS / "texts" / f"{name}.json")
    _save_schemes(study, output)
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    for tasks, at_once in (
        ([*model_tasks(study), *recall_tasks(study)], jobs),
        (speed_tasks(study, devices), 1),
    ):
        left = [task for task in tasks if not task.result(output).is_file()]
        if len(left) < len(tasks):
            say(f"{len(tasks) - len(left)} of {len(tasks)} are there already")
        if left:
            _do(study, output, texts, left, at_once, say)


def _is_missing(output: Path, corpus: str) -> bool:
    return not (output / "text" / corpus / "about.json").is_file()


def _save_test(text: Text, path: Path) -> None:
    """Beside the results, from which the report must be made without the text."""
    sources, references, _ = text.test()
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"about": text.about, "sources": sources, "references": references}
    write_file(path, json.dumps(content, ensure_ascii=False).encode())


def _save_schemes(study: Study, output: Path) -> None:
    """The four criteria, of positions as wide as the varied model's."""
    if study.varied:
        recipe = study.contenders[study.varied].recipe
        config = ModelConfig(**shape_of(recipe.size or "tiny", recipe.model))
        content = json.dumps(judge_schemes(config), ensure_ascii=False)
        write_file(output / RESULTS / "schemes.json", content.encode())


def _do(
    study: Study,
    output: Path,
    texts: dict[str, Text],
    tasks: Sequence[Task],
    jobs: int,
    say: Callable[[str], None],
) -> None:
    """The tasks in so many processes at once; the first that fails ends the others."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    jobs = min(jobs, len(tasks))
    told = {
        "study": study.values,
        "output": str(output),
        "texts": {
            name: {"folder": str(text.folder), "languages": text.languages}
            for name, text in texts.items()
        },
        "num_threads": max(1, num_cores() // jobs),
    }
    started, num_done = time.monotonic(), 0
    firsts: list[Message] = [({**told, "cores": share}, {}) for share in _shares(cores, jobs)]
    with Workers("regard.compare.worker", firsts) as workers:
        waiting: dict[Future[Any], Task] = {
            workers.submit(partial(_told, task)): task for task in tasks
        }
        while waiting:
            for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                task = waiting.pop(done)
                if error := done.result()[0]["error"]:
                    raise TrainingError(f"{task}: {error}")
                num_done += 1
                passed = time.monotonic() - started
                left = passed / num_done * (len(tasks) - num_done)
                say(
                    f"{num_done}/{len(tasks)}  {task}  ({passed:,.0f} s, about {left:,.0f} s to go)"
                )


def _shares(cores: Sequence[int], jobs: int) -> list[list[int]]:
    """As many cores for each of the processes, in turn, and two at least: one computes, the others prepare batches.

    >>> _shares([0, 1, 2, 3, 4, 5], 2), _shares([0, 1, 2, 3, 4], 3), _shares([], 1)
    ([[0, 1, 2], [3, 4, 5]], [[0, 1], [2, 3], [4, 0]], [[]])
    """
    width = min(max(2, len(cores) // jobs), len(cores))
    return [[cores[(width * i + j) % len(cores)] for j in range(width)] for i in range(jobs)]


def _told(task: Task) -> Message:
    return dataclasses.asdict(task), {}


def _speaker(show: bool) -> Callable[[str], None]:
    def say(text: str) -> None:
        if show:
            print(text, file=sys.stderr, flush=True)

    return say
