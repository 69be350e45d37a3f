"""`regard.compare`: train or load the models of a comparison, measure them, write the report.

compare/   study.json     the recipe as it was read
           text/          the prepared corpora
           models/        the training runs
           results/       everything that was measured; the report needs nothing else
           figures/       PNGs
           report.html    the report

A task is one measurement of one model. It writes one file of results/ and is done once, in a child process.
"""

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

import torch

from regard.compare.measures import measure_alignments, measure_recall, measure_speed
from regard.compare.report import write_report
from regard.compare.results import RESULTS, Results, Task, tasks_of
from regard.compare.study import Contender, Study, parse_study, read_study
from regard.compare.texts import data_config, prepare, read_facts, read_test
from regard.data.workers import Workers
from regard.engine import num_cores
from regard.engine.torch import load_model
from regard.errors import RegardError, TrainingError, UsageError
from regard.files import write_file
from regard.model.transformer import Translating
from regard.train.corpora import load_tokenizers
from regard.train.finish import commit, hardware, versions
from regard.train.network import choose_device
from regard.train.plan import RESULT, RUN_FILE
from regard.train.progress import METRICS, lines_of
from regard.train.run import train
from regard.train.validation import translate_all
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
        _do_tasks(study, output, Path(data), jobs, say)
    report = write_report(Results(study, output), output)
    say(f"{report}: {report.stat().st_size / 1e6:.1f} MB")
    return report


def _create_folder(study: Study, output: Path) -> None:
    """Refuse a folder that holds another comparison: its results would be mixed with these."""
    path = output / STUDY
    is_new = not output.exists() or (output.is_dir() and not any(output.iterdir()))
    held = json.loads(path.read_text("utf-8")) if path.is_file() else None
    if not is_new and held != json.loads(json.dumps(study.values)):
        wanted = "--output must be a new or empty folder, or hold this comparison"
        raise UsageError(f"{wanted}: {output} holds something else; name another")
    output.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps(study.values, indent=1, ensure_ascii=False).encode())


def _do_tasks(study: Study, output: Path, data: Path, jobs: int | None, say: Callable[[str], None]) -> None:
    for name in study.corpora:
        folder = output / "text" / name
        prepare(study, name, folder, data, say)
        sources, references, _ = read_test(folder)
        # The test set stands beside the results: the report must not need the text.
        content = {"about": read_facts(folder), "sources": sources, "references": references}
        _write_json(output / RESULTS / "texts" / f"{name}.json", content)
    if jobs is None:
        # A small model uses one core of a CPU, or a GPU alone.
        devices = {each.recipe.train.device for each in study.contenders.values()}
        on_gpu = any(choose_device(device).type == "cuda" for device in devices)
        jobs = 1 if on_gpu else num_cores()
    devices = {"cpu"} | ({"cuda"} if torch.cuda.is_available() else set())
    others = [task for task in tasks_of(study) if task.kind != "speed"]
    speeds = [task for task in tasks_of(study) if task.kind == "speed" and task.place in devices]
    # Speeds are measured one after another, because they measure time.
    for tasks, at_once in ((others, jobs), (speeds, 1)):
        left = [task for task in tasks if not task.result(output).is_file()]
        if left:
            _do_in_parallel(study, output, left, at_once, say)


def _do_in_parallel(study: Study, output: Path, tasks: Sequence[Task], jobs: int, say: Callable[[str], None]) -> None:
    """Do the tasks in child processes; the first that fails ends the others."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    jobs = min(jobs, len(tasks))
    num_threads = max(1, num_cores() // jobs)
    setup = {"study": study.values, "output": str(output), "num_threads": num_threads}
    started = time.monotonic()
    firsts = [{**setup, "cores": share} for share in _shares(cores, jobs)]
    with Workers(task_worker, firsts) as workers:
        waiting = {workers.submit(dataclasses.asdict, task): task for task in tasks}
        for num_done, done in enumerate(as_completed(waiting), start=1):
            task = waiting[done]
            if error := done.result():
                raise TrainingError(f"{task}: {error}")
            say(f"{num_done}/{len(tasks)}  {task}  ({time.monotonic() - started:,.0f} s)")


def _shares(cores: Sequence[int], jobs: int) -> list[list[int]]:
    """The cores of each process: equally many, and at least two, because others prepare batches while one computes.

    >>> _shares([0, 1, 2, 3, 4, 5], 2), _shares([0, 1, 2, 3, 4], 3), _shares([], 1)
    ([[0, 1, 2], [3, 4, 5]], [[0, 1], [2, 3], [4, 0]], [[]])
    """
    width = min(max(2, len(cores) // jobs), len(cores))
    return [[cores[(width * i + j) % len(cores)] for j in range(width)] for i in range(jobs)]


def task_worker(setup: dict[str, Any]) -> Callable[[dict[str, Any]], str | None]:
    """In a child process: the study first, then one task at a time."""
    study, output = parse_study(setup["study"], "the comparison"), Path(setup["output"])
    if setup["cores"] and hasattr(os, "sched_setaffinity"):
        # What prepares batches counts the cores it may use, and must leave the others theirs.
        os.sched_setaffinity(0, setup["cores"])
    torch.set_num_threads(setup["num_threads"])

    def answer(message: dict[str, Any]) -> str | None:
        """Write the result of a task; the answer is the text of the error, or None."""
        task = Task(**message)
        contender = study.contenders[task.name]
        try:
            device = choose_device(task.place if task.kind == "speed" else contender.recipe.train.device)
            if task.kind == "recall" and study.recall:
                found: dict[str, Any] = {"accuracy": measure_recall(contender, study.recall, task.seed, device)}
            elif task.kind == "speed" and study.speed:
                vocabulary = read_facts(output / "text" / next(iter(study.corpora)))["vocabulary"]
                found = {"speeds": measure_speed(contender, study.speed, vocabulary, device)}
            else:
                found = _measure_model(study, task, output, device)
        except RegardError as error:
            return str(error)
        facts = {"hardware": hardware(device), "commit": commit(), "versions": versions()}
        _write_json(task.result(output), {**found, **facts})
        return None

    return answer


def _measure_model(study: Study, task: Task, output: Path, device: torch.device) -> dict[str, Any]:
    """Train the model, or load it, and translate the test set."""
    contender, text = study.contenders[task.name], output / "text" / task.place
    if contender.folder:
        folder, found = Path(contender.folder), {}
    else:
        folder = output / "models" / task.place / task.name / f"seed-{task.seed}"
        found = _train(contender, text, task.seed, folder)
    sources, references, links = read_test(text)
    model, manifest = load_model(folder)
    assert isinstance(model, Translating)
    tokenizers = load_tokenizers(folder, manifest.tokenizer)
    decode = contender.recipe.decode
    found |= {
        "hypotheses": translate_all(model.to(device), sources, tokenizers, decode, "fp32"),
        "num_parameters": sum(p.numel() for p in model.parameters()),
    }
    if study.alignment is not None and task.name in study.alignment.models:
        pairs = (sources, references, links)
        found["alignments"] = measure_alignments(model.cpu(), tokenizers, *pairs, study.alignment)
    return found


def _train(contender: Contender, text: Path, seed: int, folder: Path) -> dict[str, Any]:
    """Train the model of this folder, or continue; the facts about a finished run."""
    recipe = contender.recipe
    request = dataclasses.replace(
        recipe, data=data_config(text, recipe.data), train=dataclasses.replace(recipe.train, seed=seed)
    )
    if not (folder / RESULT).is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        train(request, folder, resume=(folder / RUN_FILE).is_file(), show_progress=False)
    result = json.loads((folder / RESULT).read_text("utf-8"))
    valid = lines_of(folder / METRICS, "valid")
    losses = [(line["step"], line["seconds"], line["loss"]) for line in valid]
    return {"seconds": result["seconds"], "steps": result["steps"], "losses": losses}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps(content, ensure_ascii=False).encode())
