"""A recipe trained with several seeds: score, spread, seconds and the course of validation, as one JSON.

    python benchmarks/recipe_runs.py multi30k-en-de --seeds 3 --data FOLDER [--save]

Every run is `regard train --recipe NAME --seed N` in a process of its own; one whose folder is finished already is
only read, so that seeds can be trained at different times. The row for the table of docs/how-to/train.md is printed last.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PREFIX = "recipe_"
HEADER = "| recipe | test set | BLEU | chrF | training | text to model | seeds |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("--seeds", type=int, default=3, help="how many, from 1 on")
    parser.add_argument("--data", default="data", help="where the recipe's files are")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where the runs are kept")
    parser.add_argument("--set", action="append", default=[], help="a setting, as for regard train")
    parser.add_argument("--name", help="of the result, where settings make it another")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    asked = parser.parse_args()
    name = asked.name or asked.recipe
    folders = [asked.runs / f"{name}-seed{seed}" for seed in range(1, asked.seeds + 1)]
    for seed, folder in enumerate(folders, start=1):
        if not (folder / "result.json").exists():
            train(asked.recipe, seed, asked.data, folder, asked.set)
    found = gather(name, asked.recipe, folders)
    if asked.save:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{PREFIX}{name}.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        draw(found, RESULTS / f"{PREFIX}{name}.png")
    print(HEADER, readme_row(found), sep="\n")


def train(recipe: str, seed: int, data: str, folder: Path, settings: list[str]) -> None:
    """A run that was interrupted goes on."""
    command = [sys.executable, "-m", "regard", "train", "--output", str(folder)]
    if (folder / "run.json").exists():
        command += ["--resume"]
    else:
        command += ["--recipe", recipe, "--data", data, "--seed", str(seed)]
        command += [word for setting in settings for word in ("--set", setting)]
    subprocess.run(command, check=True)


def gather(name: str, recipe: str, folders: list[Path]) -> dict[str, Any]:
    """What the runs left in their folders."""
    results = [json.loads((folder / "result.json").read_text("utf-8")) for folder in folders]
    plans = [json.loads((folder / "run.json").read_text("utf-8")) for folder in folders]
    rows = [row_of(result, plan, folder) for result, plan, folder in zip(results, plans, folders, strict=True)]
    figures = ("bleu", "chrf", "training_s", "total_s")
    return {
        "benchmark": f"{PREFIX}{name}",
        "recipe": recipe,
        "date": max(result["date"] for result in results)[:10],
        "commit": "; ".join(sorted({result["commit"] or "unknown" for result in results})),
        "hardware": "; ".join(sorted({result["hardware"] for result in results})),
        "versions": results[0]["versions"],
        "test_set": rows[0]["test_set"],
        "num_parameters": results[0]["num_parameters"],
        "mean": {key: statistics.mean(row[key] for row in rows) for key in figures},
        "spread": {key: spread([row[key] for row in rows]) for key in figures},
        "settings": without_folders(plans[0]),
        "rows": rows,
        "ratios": {},
    }


def row_of(result: dict[str, Any], plan: dict[str, Any], folder: Path) -> dict[str, Any]:
    """One run; the curve is its validations as minutes of training, BLEU and loss."""
    test = result["scores"][-1]
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text("utf-8").splitlines()]
    return {
        "seed": plan["train"]["seed"],
        "test_set": test["name"],
        "bleu": test["bleu"],
        "chrf": test["chrf"],
        "signature": test["bleu_signature"],
        "steps": result["steps"],
        "training_s": result["seconds"]["training"],
        "first_steps_s": result["seconds"]["first_steps"],
        "total_s": result["seconds"]["total"],
        "curve": [
            [round(line["seconds"] / 60, 3), line["bleu"], line["loss"]] for line in lines if line["kind"] == "valid"
        ],
        "train_loss": [
            [round(line["seconds"] / 60, 3), line["loss"]]
            for line in thinned([line for line in lines if line["kind"] == "train"])
        ],
    }


def thinned(lines: list[Any], most: int = 100) -> list[Any]:
    return lines[:: max(1, len(lines) // most)]


def spread(values: list[float]) -> float:
    """The standard deviation over the seeds; nothing for one."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def without_folders(plan: dict[str, Any]) -> dict[str, Any]:
    """Files by their names: where they lay is nobody's concern."""
    data = {
        key: [Path(name).name for name in value] if isinstance(value, list) else value
        for key, value in plan["data"].items()
    }
    return {**plan, "data": data}


def readme_row(found: dict[str, Any]) -> str:
    mean, deviation = found["mean"], found["spread"]["bleu"]
    score = f"**{mean['bleu']:.2f}**" + (f" ± {deviation:.2f}" if len(found["rows"]) > 1 else "")
    name = found["benchmark"].removeprefix(PREFIX)
    return (
        f"| `{name}` | {found['test_set']} | {score} | {mean['chrf']:.1f} | "
        f"{mean['training_s']:.0f} s | {mean['total_s']:.0f} s | {len(found['rows'])} |"
    )


def draw(found: dict[str, Any], path: Path) -> None:
    """BLEU on the validation set over minutes of training, a line for each seed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("no picture: matplotlib is not installed", file=sys.stderr)
        return
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for row in found["rows"]:
        points = [(minutes, bleu) for minutes, bleu, _ in row["curve"] if bleu is not None]
        axes.plot(*zip(*points, strict=True), marker="o", label=f"seed {row['seed']}")
    axes.set(
        title=found["benchmark"].removeprefix(PREFIX),
        xlabel="minutes of training",
        ylabel="BLEU on the validation set, greedy",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
