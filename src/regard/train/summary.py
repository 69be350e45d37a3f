"""A run summed up: how long it will take, its curves as a picture, and a few lines about it."""

import copy
import io
import json
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from regard.errors import UsageError
from regard.files import write_file
from regard.model.transformer import EncoderOnly, Model
from regard.train.loss import Tensors, autocast, batch_loss
from regard.train.memory import is_out_of_memory
from regard.train.plan import RESULT, RUN_FILE, Plan
from regard.train.progress import METRICS, lines_of
from regard.train.snapshots import list_snapshots, probes_of

CURVES = "curves.png"
_LENGTH = 24
"""Tokens of a sentence in the step that is timed."""
_MOST_SECONDS = 5.0
"""Time after which a step is not timed again; the first also sets torch up, and other programs may disturb one or two."""


def estimated_seconds(network: Model, plan: Plan) -> float | None:
    """Seconds of all steps, from one that is timed on a copy with random tokens.

    None where a step is compiled first, and where memory cannot hold one: the run itself says what to do.
    """
    settings = plan.train
    if settings.steps is None or settings.compile or isinstance(network, EncoderOnly):
        return None
    assert settings.batch_tokens
    sides = 2 if network.config.has_encoder else 1
    num_rows = max(1, settings.batch_tokens // sides // _LENGTH)
    device = next(network.parameters()).device
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        trial = copy.deepcopy(network).train()
        tokens = torch.randint(4, network.config.target_vocab_size, (num_rows, _LENGTH), device=device)
        tokens = tokens.clamp(max=network.config.source_vocab_size - 1)
        lengths = torch.full((num_rows,), _LENGTH, device=device)
        batch = Tensors(tokens, lengths, tokens, tokens, lengths)
        times = list[float]()
        try:
            while len(times) < 4 and sum(times) < _MOST_SECONDS:
                began = time.perf_counter()
                with autocast(device, settings.precision):
                    loss = batch_loss(trial, batch, packed=False, longest=_LENGTH, label_smoothing=0.1).loss
                (loss / tokens.numel()).backward()
                loss.item()
                times.append(time.perf_counter() - began)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            return None
    return min(times) * settings.steps * settings.accumulate


def in_words(seconds: float) -> str:
    """
    >>> in_words(42.0), in_words(600.0), in_words(9000.0)
    ('42 seconds', '10 minutes', '2.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def write_curves(run: Path) -> Path | None:
    """Loss and BLEU over steps and over minutes, as PNG; None without matplotlib (the extra `plot`)."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return None
    train, valid = (lines_of(run / METRICS, kind) for kind in ("train", "valid"))
    figure = Figure(figsize=(9, 6), layout="constrained")
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
    best = max(valid, key=lambda line: (line["bleu"] or 0.0, -line["loss"]), default=None)
    return {
        "run": str(run),
        "plan": plan.describe(result.get("hardware", plan.train.device)),
        "finished": bool(result),
        "steps": train[-1]["step"] if train else 0,
        "minutes": round(train[-1]["seconds"] / 60, 2) if train else 0.0,
        "best": best and {name: best[name] for name in ("step", "loss", "bleu")},
        "scores": result.get("scores", []),
        "warnings": [line["text"] for line in lines_of(run / METRICS, "warning")],
        "snapshots": steps,
        "written": probes_of(run, steps[-1]) if steps else [],
    }


def as_text(found: dict[str, Any]) -> str:
    best, state = found["best"], "finished" if found["finished"] else "not finished: --resume goes on"
    lines = [f"{found['run']}: {state}", found["plan"]]
    lines.append(f"{found['steps']:,} steps, {found['minutes']:.1f} minutes, {len(found['snapshots'])} snapshots")
    if best:
        bleu = "" if best["bleu"] is None else f", greedy BLEU {best['bleu']:.2f}"
        lines.append(f"best validation: step {best['step']:,}, loss {best['loss']:.3f}{bleu}")
    for score in found["scores"]:
        numbers = [f"{name} {value:.2f}" for name, value in score.items() if isinstance(value, float)]
        lines.append(f"{score.get('name', 'score')}: {', '.join(numbers)}")
    lines += [f"warning: {text}" for text in found["warnings"]]
    lines += [f"{each['source']}  →  {each['written']}  (right: {each['reference']})" for each in found["written"]]
    return "\n".join(lines)
