"""docs/how-to/cluster.md: its examples are well-formed, and its figures are those of the model."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from scale_model import (
    BASE,
    BIG,
    NVLINK_AND_ETHERNET,
    NVLINK_AND_INFINIBAND,
    Network,
    Work,
    breaks_at,
    exchange_seconds,
    step_seconds,
    together,
    tokens_a_second,
    tokens_a_second_shared,
)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "cluster.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_kubernetes_and_bash_get_what_they_expect() -> None:
    job, _ = yaml.safe_load_all(*blocks("yaml"))
    assert (job["apiVersion"], job["kind"]) == ("trainer.kubeflow.org/v1alpha1", "TrainJob")
    trainer = job["spec"]["trainer"]
    num_processes = trainer["numNodes"] * trainer["numProcPerNode"]
    assert trainer["resourcesPerNode"]["limits"]["nvidia.com/gpu"] == str(trainer["numProcPerNode"])
    script = trainer["command"][-1]
    assert f"accumulate={num_processes}" in script
    others = blocks("bash")
    assert len(others) == 2 and all("--max-restarts" in each for each in others)
    for each in (script, *others):
        assert "-m regard train" in each
        assert subprocess.run(["bash", "-n"], input=each.encode()).returncode == 0


def test_figures_are_those_of_the_model() -> None:
    rows = re.findall(r"^\| `(base|big)`, (\w+) \|(.*)\|$", PAGE, re.MULTILINE)
    assert len(rows) == 4
    for name, network_name, cells in rows:
        work = {"base": BASE, "big": BIG}[name]
        network = NVLINK_AND_INFINIBAND if network_name == "InfiniBand" else NVLINK_AND_ETHERNET
        *speeds, share = (cell.strip() for cell in cells.split("|"))
        for size, written in zip((1, 8, 64, 256, 1024), speeds, strict=True):
            speed = tokens_a_second(work, size, network) / 1e6
            digits = 1 if speed < 100 else 0
            assert written == f"{speed:,.{digits}f}"
        efficiency = tokens_a_second(work, 1024, network) / (1024 * work.tokens_a_second)
        assert share == f"{100 * efficiency:.0f} %"
    shared = {size: tokens_a_second_shared(BASE, size, NVLINK_AND_INFINIBAND, 1 << 19) / 1e6 for size in (64, 256, 512)}
    assert f"do {shared[64]:.0f} million tokens a second" in PAGE.replace("\n", " ")
    assert f"256 do {shared[256]:.0f}" in PAGE and shared[512] < shared[256]
    assert breaks_at(BASE, NVLINK_AND_ETHERNET) == breaks_at(BIG, NVLINK_AND_ETHERNET) == 16


def test_the_model_by_hand() -> None:
    work = Work("hand", 1_000_000, 1000, 10_000.0)  # 0.1 s a step, 4 MB of gradients
    network = Network("hand", 2, within=8e6, between=1e6, latency=0.0, tcp_latency=0.0, hidden=0.0)
    # Two on one machine: each sends 2 · 1/2 of the gradients.
    assert exchange_seconds(4e6, 2, network) == 0.5
    # Two machines of two: the same, and 2 · 1/2 of half of them between.
    assert exchange_seconds(4e6, 4, network) == 0.5 + 2.0
    # Half of two thirds of 0.3 s hides 0.1 s.
    assert together(0.3, 0.1, hidden=0.5) == pytest.approx(0.3)
    assert together(0.3, 0.4, hidden=0.5) == pytest.approx(0.3 + 0.3)
    assert step_seconds(work, 1, network) == 0.1
    assert tokens_a_second(work, 1, network) == 10_000
