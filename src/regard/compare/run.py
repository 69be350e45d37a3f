"""`regard.compare`: train or load the models of a comparison, measure them, write the report.

The folder has the recipe (study.json), text/, models/, and in results/ all that the report needs. A task is one run of
one model. It writes one file of results/ and is done once, in a child process.
"""

import dataclasses
import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from functools import partial
from pathlib import Path
from typing import Any

import torch

from regard.compare.measures import measure_alignments, training_flops
from regard.compare.report import write_report
from regard.compare.results import Task, request_of, score, stages_of
from regard.compare.study import Study, parse_study, read_study
from regard.compare.texts import ORDINARY, RESULTS, data_config, prepare, read_text
from regard.data.workers import Workers
from regard.engine import num_cores
from regard.engine.torch import load_model
from regard.errors import RegardError, TrainingError, UsageError
from regard.files import write_file
from regard.model.transformer import Translating
from regard.train.corpora import load_tokenizers
from regard.train.finish import commit, hardware, versions
from regard.train.network import choose_device
from regard.train.plan import RESULT, RUN_FILE, Plan
from regard.train.progress import METRICS, lines_of
from regard.train.run import train
from regard.train.validation import translate_all
from regard.translate.evaluate import require_metrics

STUDY = "study.json"
MAX_ON_A_GPU = 8
"""runs that share a GPU by default; those counted in minutes never do"""


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
    jobs: parallel tasks, by default one for each core of a CPU and at most eight on a GPU; runs counted in minutes are
    alone. only_report: train nothing, report the results so far.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"jobs must be at least 1: got {jobs}; give a larger one")
    require_metrics()
    study = read_study(recipe) if isinstance(recipe, str) else parse_study(recipe, "recipe")
    output = Path(output)

    def say(text: str) -> None:
        if show_progress:
            print(text, file=sys.stderr, flush=True)

    failed: list[str] = []
    if only_report:
        if not (output / STUDY).is_file():
            needed = "--only-report needs the results of an earlier comparison"
            raise UsageError(f"{needed}: {output} holds none; leave it out")
        study = parse_study(json.loads((output / STUDY).read_text("utf-8")), str(output))
    else:
        _create_folder(study, output)
        failed = _do_tasks(study, output, Path(data), jobs, say)
    if failed and not any((output / RESULTS / "run").rglob("*.json")):
        raise TrainingError(failed[0])
    report = write_report(study, output)
    say(f"{report}: {report.stat().st_size / 1e6:.1f} MB")
    if failed:
        raise TrainingError(
            f"every task must end: {len(failed)} did not, such as {failed[0]}; the report has the others"
        )
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


def _do_tasks(study: Study, output: Path, data: Path, jobs: int | None, say: Callable[[str], None]) -> list[str]:
    """Prepare the text, then do the tasks stage by stage; what failed, and why."""
    for name in study.corpora:
        prepare(study, name, output, data, say)
    if jobs is None:
        # A small model uses one core of a CPU; beside a GPU another core prepares its batches.
        devices = {each.recipe.train.device for each in study.contenders.values()}
        on_gpu = any(choose_device(device).type == "cuda" for device in devices)
        jobs = min(MAX_ON_A_GPU, max(1, num_cores() // 2)) if on_gpu else num_cores()
    sweeps, together, alone = stages_of(study)
    # Runs that are alone have as many threads as the others.
    work = partial(_do_in_parallel, study, output, say, max(1, num_cores() // jobs))
    return [*work([sweeps, together], jobs), *work([alone], 1)]


def _do_in_parallel(
    study: Study, output: Path, say: Callable[[str], None], num_threads: int, stages: Sequence[list[Task]], jobs: int
) -> list[str]:
    """Do the tasks of each stage in child processes; one that fails does not end the others."""
    stages = [[task for task in tasks if not task.result(output).is_file()] for tasks in stages]
    jobs = min(jobs, max(map(len, stages)))
    if not jobs:
        return []
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    setup = {"study": study.values, "output": str(output), "num_threads": num_threads}
    started, failed = time.monotonic(), list[str]()
    with Workers(task_worker, [{**setup, "cores": share} for share in _shares(cores, jobs)]) as workers:
        for tasks in stages:
            waiting = {workers.submit(dataclasses.asdict, task): task for task in tasks}
            for num_done, done in enumerate(as_completed(waiting), start=1):
                try:
                    error = done.result()
                except RegardError as ended:
                    error = str(ended)
                failed += [f"{waiting[done]}: {error}"] if error else []
                end = f": {error}" if error else ""
                say(f"{num_done}/{len(tasks)}  {waiting[done]}  ({time.monotonic() - started:,.0f} s){end}")
    return failed


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

    def answer(message: dict[str, Any]) -> str | None:
        """Write the result of a task; the answer is the text of the error, or None."""
        task = Task(**message)
        contender = study.contenders[task.model]
        torch.set_num_threads(setup["num_threads"])
        try:
            device = choose_device(contender.recipe.train.device)
            if task.kind == "sweep":
                found: dict[str, Any] = {"rate": task.rate, "loss": _try_rate(study, task, output)}
            else:
                found = _measure_model(study, task, output, device)
        except RegardError as error:
            return str(error)
        except Exception as error:  # of one run, which must not end the others
            traceback.print_exc()
            return f"{type(error).__name__}: {error}".split("\n")[0]
        facts = {"hardware": hardware(device), "commit": commit(), "versions": versions()}
        path = task.result(output)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps({**found, **facts}, ensure_ascii=False).encode())
        return None

    return answer


def _try_rate(study: Study, task: Task, output: Path) -> float | None:
    """The lowest validation loss with this learning rate; None where the run diverges."""
    folder = output / "models" / str(task)
    try:
        losses = _train(study, task, output, folder)["losses"]
    except TrainingError:
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return min(line["loss"] for line in losses)


def _measure_model(study: Study, task: Task, output: Path, device: torch.device) -> dict[str, Any]:
    """Train the model, or load it, and translate the test set."""
    contender, text = study.contenders[task.model], read_text(output, task.corpus)
    folder = Path(contender.folder) if contender.folder else output / "models" / str(task)
    found = {} if contender.folder else _train(study, task, output, folder)
    sources, references, facts = text["sources"], text["references"], text["about"]
    model, manifest = load_model(folder)
    assert isinstance(model, Translating)
    tokenizers = load_tokenizers(folder, manifest.tokenizer, manifest.model)
    hypotheses = translate_all(model.to(device), sources, tokenizers, contender.recipe.decode, "fp32")
    parts = {**facts["parts"]}
    for label, groups in facts["groups"].items():
        parts |= {f"{label}/{name}": rows for name, rows in groups.items()}
    found |= {
        "hypotheses": hypotheses,
        "scores": {part: score(facts["metric"], hypotheses, references, rows) for part, rows in parts.items() if rows},
        "num_parameters": sum(p.numel() for p in model.parameters()),
        "flops": training_flops(model.config, round(facts["mean_tokens"]) + 1),
    }
    if task.model in study.alignment.models and (task.corpus, task.budget) == study.first:
        pairs = [(sources[i], references[i]) for i in facts["parts"][ORDINARY]]
        found["alignments"] = measure_alignments(model.cpu(), tokenizers, pairs, study.alignment)
    return found


def _train(study: Study, task: Task, output: Path, folder: Path) -> dict[str, Any]:
    """Train the model of this folder, or continue; the facts about a finished run."""
    request = request_of(study, task, output)
    languages, text = read_text(output, task.corpus)["about"]["languages"], output / "text" / task.corpus
    request = dataclasses.replace(request, data=data_config(text, languages, request.data))
    if not (folder / RESULT).is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        train(request, folder, resume=(folder / RUN_FILE).is_file(), show_progress=False, measures=False)
    result, settings = json.loads((folder / RESULT).read_text("utf-8")), Plan.load(folder / RUN_FILE).train
    assert settings.batch_tokens is not None
    return {
        "seconds": result["seconds"]["training"],
        "steps": result["steps"],
        "tokens": result["steps"] * settings.batch_tokens * settings.accumulate,
        "rate": settings.learning_rate,
        "losses": [
            {key: line[key] for key in ("step", "seconds", "loss")} for line in lines_of(folder / METRICS, "valid")
        ],
    }
