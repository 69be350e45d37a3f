"""`regard.compare`: train or load the models of a comparison, measure them, write the report.

compare/   study.json     the recipe as it was read
           text/          the prepared corpora
           models/        the training runs
           results/       everything that was measured; the report needs nothing else
           figures/       PNGs
           report.html    the report
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from functools import partial
from pathlib import Path
from typing import Any

import torch

from regard.compare.report import write_report
from regard.compare.results import read_results
from regard.compare.study import Study, parse_study, read_study
from regard.compare.tasks import RESULTS, Task, model_tasks, recall_tasks, speed_tasks
from regard.compare.texts import prepare
from regard.data.workers import Message, Workers
from regard.errors import TrainingError, UsageError
from regard.files import write_file
from regard.train.device import choose_device
from regard.train.setup import num_cores
from regard.translate.evaluate import require_metrics

STUDY = "study.json"


def compare(
    recipe: str | dict[str, Any],
    output: str | Path,
    *,
    data: str | Path = "data",
    jobs: int | None = None,
    only_report: bool = False,
    show_progress: bool = True,
) -> Path:
    """Do the unfinished tasks of a comparison, and write its report; returns the path of the report.

    recipe: a named comparison, a TOML file, or the content of one. data: the folder of files named data/….
    jobs: parallel tasks; by default one for each core of a CPU, one on a GPU. only_report: train nothing, report
    the results so far.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs must be at least 1: got {jobs}; give a larger one")
    require_metrics()
    study = read_study(recipe) if isinstance(recipe, str) else parse_study(recipe, "recipe")
    output = Path(output)

    def say(text: str) -> None:
        if show_progress:
            print(text, file=sys.stderr, flush=True)

    if only_report:
        if not (output / STUDY).is_file():
            needed = "--only-report needs the results of an earlier comparison"
            raise UsageError(f"{needed}: {output} holds none; leave it out")
        study = parse_study(json.loads((output / STUDY).read_text("utf-8")), str(output))
    else:
        _create_folder(study, output)
        _do_tasks(study, output, Path(data), jobs or _num_jobs(study), say)
    report = write_report(read_results(study, output), output)
    say(f"{report}: {report.stat().st_size / 1e6:.1f} MB")
    return report


def _num_jobs(study: Study) -> int:
    """A small model uses one core of a CPU, or a GPU alone."""
    wanted = {each.recipe.train.device for each in study.contenders.values()}
    on_gpu = any(choose_device(device).type == "cuda" for device in wanted)
    return 1 if on_gpu else num_cores()


def _create_folder(study: Study, output: Path) -> None:
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
    elif output.exists() and any(output.iterdir()):
        raise UsageError(
            f"--output must be a new or empty folder: {output} holds files; name another"
        )
    output.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps(study.values, indent=1, ensure_ascii=False).encode())


def _do_tasks(
    study: Study, output: Path, data: Path, jobs: int, say: Callable[[str], None]
) -> None:
    for name in study.corpus_names:
        text = prepare(study, name, output / "text" / name, data, say)
        sources, references, _ = text.test()
        about = text.about
        say(
            f"{name}: {about['train']:,} training pairs, {about['valid']:,} validation pairs, "
            f"{about['test']:,} test pairs, a vocabulary of {about['vocabulary']:,} tokens"
        )
        # The test set stands beside the results: the report must not need the text.
        path = output / RESULTS / "texts" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        content = {"about": about, "sources": sources, "references": references}
        write_file(path, json.dumps(content, ensure_ascii=False).encode())
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    for tasks, at_once in (
        ([*model_tasks(study), *recall_tasks(study)], jobs),
        (speed_tasks(study, devices), 1),
    ):
        left = [task for task in tasks if not task.result(output).is_file()]
        if len(left) < len(tasks):
            say(f"{len(tasks) - len(left)} of {len(tasks)} are done already")
        if left:
            _do_in_parallel(study, output, left, at_once, say)


def _do_in_parallel(
    study: Study, output: Path, tasks: Sequence[Task], jobs: int, say: Callable[[str], None]
) -> None:
    """Do the tasks in child processes; the first that fails ends the others."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    jobs = min(jobs, len(tasks))
    num_threads = max(1, num_cores() // jobs)
    setup = {"study": study.values, "output": str(output), "num_threads": num_threads}
    started = time.monotonic()
    firsts: list[Message] = [({**setup, "cores": share}, {}) for share in _shares(cores, jobs)]
    with Workers("regard.compare.tasks", firsts) as workers:
        waiting = {workers.submit(partial(_message, task)): task for task in tasks}
        for num_done, done in enumerate(as_completed(waiting), start=1):
            task = waiting[done]
            if error := done.result()[0]["error"]:
                raise TrainingError(f"{task}: {error}")
            passed = time.monotonic() - started
            left = passed / num_done * (len(tasks) - num_done)
            say(f"{num_done}/{len(tasks)}  {task}  ({passed:,.0f} s, about {left:,.0f} s to go)")


def _shares(cores: Sequence[int], jobs: int) -> list[list[int]]:
    """The cores of each process: equally many, and at least two, because others prepare batches while one computes.

    >>> _shares([0, 1, 2, 3, 4, 5], 2), _shares([0, 1, 2, 3, 4], 3), _shares([], 1)
    ([[0, 1, 2], [3, 4, 5]], [[0, 1], [2, 3], [4, 0]], [[]])
    """
    width = min(max(2, len(cores) // jobs), len(cores))
    return [[cores[(width * i + j) % len(cores)] for j in range(width)] for i in range(jobs)]


def _message(task: Task) -> Message:
    return dataclasses.asdict(task), {}
