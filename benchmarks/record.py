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
