"""A run summed up: why its settings, how long it will take, its curves as a picture, and a few lines about it."""

import copy
import io
import json
import math
import time
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from regard.errors import UsageError
from regard.files import write_file
from regard.model.transformer import Model
from regard.train import plan as plans
from regard.train.batches import DeviceBatch
from regard.train.corpora import TOKENIZERS, load_tokenizers
from regard.train.memory import SENTENCE, OutOfMemory, trial_batch
from regard.train.optimizer import make_optimizer
from regard.train.plan import RESULT, RUN_FILE, Plan
from regard.train.progress import METRICS, Validation, lines_of
from regard.train.recipe import Request
from regard.train.snapshots import list_snapshots, probes_of
from regard.train.update import Updater

CURVES = "curves.png"
_TRIAL_TOKENS = 2048
"""Tokens of the batch that is timed; the time of a larger one is in proportion."""
_MAX_SECONDS = 2.0
"""Time after which a step is not timed again; the first also sets torch up, and other programs may disturb one or two."""
_WORTH_THREADS = 0.9
"""Share of the time that more threads may take at most to be chosen: on busy cores threads wait for each other."""


def reasons(
    request: Request, plan: Plan, num_pairs: int, num_tokens: int, *, on_gpu: bool, tunes: bool
) -> dict[str, str]:
    """Why each setting that the request leaves open is what it is, in a few words."""
    train = plan.train
    assert train.batch_tokens
    update = train.batch_tokens * train.accumulate
    passes = (train.steps or 0) * update / num_tokens
    least = plans.FINE_TUNING_BATCH if tunes else plans.SMALLEST_BATCH
    share = "the fewest" if update <= least else "the most" if update >= plans.LARGEST_BATCH else "1 % of the text"
    parts = f" (in {train.accumulate} batches, {'for the memory' if on_gpu else 'larger ones save no time'})"
    rate = "by the paper's formula" if train.schedule == "inverse-sqrt" else "by the model's width"
    why = {
        "size": f"size {plans.for_pairs(plans.SIZE_BY_PAIRS, num_pairs)} for {num_pairs:,} pairs",
        "vocabulary": f"{plan.model.target_vocab_size:,} tokens in the vocabulary, more for more text",
        "steps": f"{passes:.3g} passes over {num_tokens:,} tokens, fewer over more text",
        "batch_tokens": f"updates of {update:,} tokens, {share}{parts * (train.accumulate > 1)}",
        "dropout": f"dropout {train.dropout}{'' if tunes else ', less for more text'}",
        "learning_rate": f"rate {rate}{', low to keep what the model knows' * tunes}",
    }
    given = {**request.given("data"), **request.given("model"), **request.given("train")}
    fixed = {*given, *(("size", "vocabulary") if plan.init else ()), *(("steps",) if train.minutes else ())}
    fixed |= {"vocabulary"} if "tokenizer_file" in given else set()
    fixed |= {"size"} if "d_model" in fixed and fixed & {"d_ff", "d_state"} else set()
    return {name: text for name, text in why.items() if name not in fixed}


def timed(network: Model, plan: Plan) -> tuple[Plan, float | None]:
    """The plan with the fastest number of threads, and the seconds of all steps: a few are timed, on a copy.

    No seconds on a GPU, where a step is compiled first, where memory cannot hold one (the run itself says what to do), and
    in a run that is counted in minutes.
    """
    settings, device = plan.train, next(network.parameters()).device
    if settings.compile or device.type != "cpu":
        return plan, None
    most, seconds, fastest = torch.get_num_threads(), math.inf, settings.threads
    tried = [fastest] if fastest else [number for number in (1, 2, 4, 8, 16, 32) if number < most] + [most]
    assert settings.batch_tokens
    num_tokens = max(2 * SENTENCE, min(settings.batch_tokens, _TRIAL_TOKENS))
    with torch.random.fork_rng([]), suppress(OutOfMemory):
        trial = copy.deepcopy(network).train()
        updater = Updater(trial, make_optimizer(trial, settings), settings, longest=SENTENCE)
        batch = DeviceBatch(
            trial_batch(num_tokens, plan.model, settings, device), bool(settings.packing), 0, num_tokens, {}
        )
        for threads in tried:
            torch.set_num_threads(threads)
            times = list[float]()
            while len(times) < 4 and sum(times) < _MAX_SECONDS:
                began = time.perf_counter()
                updater([batch], rate=0.0)
                times.append(time.perf_counter() - began)
            if min(times) > _WORTH_THREADS * seconds:
                break
            fastest, seconds = threads, min(times)
    torch.set_num_threads(fastest or most)
    threads_chosen = (
        f"{fastest} of {most} threads: {'more were no faster' if fastest != most else 'the fastest'} in a trial"
    )
    why = plan.reasons if settings.threads or not fastest else {**plan.reasons, "threads": threads_chosen}
    whole = seconds * settings.batch_tokens / num_tokens * (settings.steps or math.inf) * settings.accumulate
    plan = replace(plan, train=replace(settings, threads=fastest), reasons=why)
    return plan, whole if math.isfinite(whole) else None


def write_curves(run: Path) -> Path | None:
    """Loss and BLEU over steps and over minutes, as PNG; None without matplotlib (the extra `plot`)."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return None
    train, valid = (lines_of(run / METRICS, kind) for kind in ("train", "valid"))
    figure = Figure(figsize=(9, 6))
    # By hand: matplotlib finds out as much by drawing everything once more.
    figure.subplots_adjust(left=0.09, right=0.98, bottom=0.09, top=0.92, hspace=0.08, wspace=0.26)
    axes = figure.subplots(2, 2, sharex="col", squeeze=False)
    for column, (key, divisor, label) in enumerate((("step", 1, "step"), ("seconds", 60, "minutes of training"))):
        losses, bleus = axes[0][column], axes[1][column]
        for lines, name, style in ((train, "nll", "-"), (valid, "loss", "o-")):
            points = [(line[key] / divisor, line[name]) for line in lines if line[name] is not None]
            text = "training" if name == "nll" else "validation"
            losses.plot([x for x, _ in points], [y for _, y in points], style, markersize=3, label=text)
        points = [(line[key] / divisor, line["bleu"]) for line in valid if line["bleu"] is not None]
        bleus.plot([x for x, _ in points], [y for _, y in points], "o-", markersize=3)
        losses.set(ylabel="loss of a token")
        losses.legend(fontsize=8)
        bleus.set(xlabel=label, ylabel="BLEU, greedy")
    figure.suptitle(run.resolve().name)
    write_file(run / CURVES, picture_of(figure, dpi=110))
    return run / CURVES


def picture_of(figure: Any, kind: str = "png", **options: Any) -> bytes:
    """A figure of matplotlib as the bytes of a file of this format."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        # Letters that the font lacks are drawn as boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(file, format=kind, **options)
    return file.getvalue()


def summary(run: Path) -> dict[str, Any]:
    """What `regard models show` tells of a run, finished or not."""
    if not (run / RUN_FILE).is_file():
        raise UsageError(
            f"a run must be the folder of  regard train: {run} has no {RUN_FILE}; `regard models` lists the models"
        )
    plan = Plan.load(run / RUN_FILE)
    train, valid = (lines_of(run / METRICS, kind) for kind in ("train", "valid"))
    result = json.loads((run / RESULT).read_bytes()) if (run / RESULT).is_file() else {}
    steps = list_snapshots(run)
    tokenizers = load_tokenizers(run / TOKENIZERS, plan.tokenizer, plan.model)
    chosen = [line for line in valid if line.get("best", True)]
    best = max(chosen, key=lambda line: (line["bleu"] or 0.0, -line["loss"]), default=None)
    return {
        "run": str(run),
        "plan": plan.describe(result.get("hardware", plan.train.device)),
        "finished": bool(result),
        "steps": train[-1]["step"] if train else 0,
        "minutes": round(train[-1]["seconds"] / 60, 2) if train else 0.0,
        "given": valid[0] if plan.init and valid else None,
        "best": best,
        "scores": result.get("scores", []),
        "warnings": [line["text"] for line in lines_of(run / METRICS, "warning")],
        "snapshots": steps,
        "written": probes_of(run, steps[-1], plan, tokenizers) if steps else [],
    }


def as_text(found: dict[str, Any]) -> str:
    best, state = found["best"], "finished" if found["finished"] else "not finished: --resume goes on"
    lines = [f"{found['run']}: {state}", found["plan"]]
    lines.append(f"{found['steps']:,} steps, {found['minutes']:.1f} minutes, {len(found['snapshots'])} snapshots")
    if found["given"]:
        lines.append(f"the given model: {Validation.of(found['given'])}")
    if best:
        lines.append(f"best validation: step {best['step']:,}, {Validation.of(best)}")
    for score in found["scores"]:
        numbers = [f"{name} {value:.2f}" for name, value in score.items() if isinstance(value, float)]
        lines.append(f"{score.get('name', 'score')}: {', '.join(numbers)}")
    lines += [f"warning: {text}" for text in found["warnings"]]
    lines += [f"{each['source']}  →  {each['written']}  (right: {each['reference']})" for each in found["written"]]
    return "\n".join(lines)
