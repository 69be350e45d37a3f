"""What a benchmark leaves in benchmarks/results: its figures, and what they were measured on and with."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

import regard

ROOT = Path(__file__).parents[1]
Row = dict[str, Any]


def save(name: str, rows: list[Row], ratios: dict[str, float], *packages: str) -> Path:
    """Write results/NAME.json; `packages` are the peers whose versions count."""
    found = {
        "benchmark": name,
        "date": datetime.date.today().isoformat(),
        "commit": _commit(),
        "hardware": hardware(),
        "versions": {
            "regard": regard.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            **{package: importlib.metadata.version(package) for package in packages},
        },
        "rows": rows,
        "ratios": ratios,
    }
    path = ROOT / "benchmarks" / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=2) + "\n")
    return path


def hardware() -> str:
    cores = f"{os.cpu_count()} CPU cores, {platform.machine()}"
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.is_file() else []
    if names:
        cores += f" ({names[0].partition(':')[2].strip()})"
    return f"{torch.cuda.get_device_name()}; {cores}" if torch.cuda.is_available() else cores


def _commit() -> str:
    """Of the tree that was measured; a copy without its history says so."""
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def put_table(page: str, name: str, rows: list[Row], columns: dict[str, str]) -> None:
    """Write rows as the table that stands between two comments with this name in a page; `columns` give keys their heads."""

    def shown(value: Any) -> str:
        return f"{value:,}" if isinstance(value, int | float) else str(value)

    path = ROOT / page
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, rest = path.read_text("utf-8").split(begin)
    after = rest.partition(end)[2]
    lines = [list(columns.values()), ["---"] * len(columns)]
    lines += [[shown(row.get(key, "–")) for key in columns] for row in rows]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    path.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")
