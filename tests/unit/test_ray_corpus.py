"""A corpus on a local Ray cluster of two workers: the text of one process, also when a worker is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from serve_fixtures import wait_until

import regard

SENTENCES = (
    "Le chat dort sur la table.",
    "Il pleut depuis ce matin, et nous restons à la maison.",
    "",
    "Où est la gare ? Je cherche le train pour Paris.",
    "Merci beaucoup pour votre aide.",
)
NUM_LINES = 61


def descendants(process: int) -> Iterator[int]:
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, thread.read_text().split()):
            yield child
            yield from descendants(child)


def workers(process: int) -> list[int]:
    """Those of a cluster that hold a model."""
    found = []
    for child in descendants(process):
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if command.startswith(b"ray::MapWorker"):
            found.append(child)
    return found


def finished(folder: Path) -> dict[str, int]:
    """The blocks that are done, and when they were written."""
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("[0-9]" * 8)}


@pytest.mark.timeout(600)
def test_a_killed_worker_costs_its_block_and_a_stopped_job_goes_on(tmp_path: Path) -> None:
    text, output = tmp_path / "text.fr", tmp_path / "out"
    lines = [SENTENCES[number % len(SENTENCES)] for number in range(NUM_LINES)]
    text.write_text("".join(f"{line}\n" for line in lines))
    command = [sys.executable, "-m", "regard", "translate-corpus", str(text), "-o", str(output)]
    command += ["--block-bytes", "97", "--engine", "onnxruntime"]
    on_ray = subprocess.Popen(
        [*command, "--ray", "local", "--workers", "2"],
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        # A parent in the background ignores SIGINT, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    blocks = output / "text.fr.blocks"
    try:
        wait_until(lambda: len(finished(blocks)) >= 3 or on_ray.poll() is not None, seconds=200)
        before = finished(blocks)
        os.kill(workers(on_ray.pid)[0], signal.SIGKILL)
        wait_until(lambda: len(finished(blocks)) >= 9 or on_ray.poll() is not None, seconds=200)
        on_ray.send_signal(signal.SIGINT)
        _, said = on_ray.communicate(timeout=100)
    finally:
        on_ray.kill()
    assert on_ray.returncode == 130, said.decode()
    assert not (output / "text.fr").exists()
    after = finished(blocks)
    num_again = sum(after[name] != written for name, written in before.items())
    assert num_again <= 1, "no more than the block that was just done when its worker was killed"
    before |= after
    # The rest here, without a cluster.
    after = subprocess.run([*command], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert f"{len(before)} of " in after.stderr and "blocks are there already" in after.stderr
    num_new = int(after.stderr.splitlines()[-1].split()[0])
    assert 0 < num_new < NUM_LINES, "what was there was not done again"
    alone = regard.load(engine="onnxruntime").translate(lines)
    assert (output / "text.fr").read_text().splitlines() == alone
