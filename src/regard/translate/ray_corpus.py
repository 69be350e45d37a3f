"""A corpus on a Ray cluster, as a Ray Data job.

Ray starts the processes, gives each the next block, and restarts one that has died with its block. The inputs, the output
and the model must have the same paths on every machine.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from regard.errors import UsageError, how_to_install
from regard.translate.corpus import Block, Job, Load

LOCAL = "local"
"""address of a new cluster on this machine alone"""


class OnRay:
    """Translates blocks on a cluster: `local`, `auto` for the one this machine is in, or an address.

    num_workers: number of processes; by default one for each core of the cluster, or for each GPU if the model uses them.
    """

    def __init__(self, load: Load, address: str, num_workers: int | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise UsageError(
                f"--ray needs the package ray, which is not installed: {how_to_install('ray')}"
            ) from error
        self._load, self._ray = load, ray
        self._address, self._num_workers = address, num_workers

    def __call__(self, job: Job, blocks: list[Block]) -> Iterator[int]:
        if not blocks:
            return
        self._connect()
        import ray.data

        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        unit = "GPU" if str(job.opening.get("device", "")).startswith("cuda") else "CPU"
        most = int(self._ray.cluster_resources().get(unit, 1))
        num_workers = min(self._num_workers or most, len(blocks))
        rows = ray.data.from_items(
            [asdict(block) for block in blocks], override_num_blocks=len(blocks)
        )
        done = rows.map_batches(
            _Worker,
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=num_workers),
            fn_constructor_args=(asdict(job), self._load),
            num_cpus=0 if unit == "GPU" else 1,
            num_gpus=1 if unit == "GPU" else None,
        )
        for row in done.iter_rows():
            yield int(row["num_lines"])

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        # No usage statistics, and no messages that are not for the user.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        logging.getLogger("ray").setLevel(logging.ERROR)
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if self._address == LOCAL:
            options |= {"include_dashboard": False, "num_cpus": self._num_workers}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self._ray.init(None if self._address == LOCAL else self._address, **options)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise UsageError(
                    f"--ray must be local, auto or the address of a cluster: got {self._address!r} "
                    f"({str(error).splitlines()[0]}); start one with  ray start --head"
                ) from error


class _Worker:
    """A process of the cluster, which holds the model."""

    def __init__(self, job: dict[str, Any], load: Load) -> None:
        self._job = Job(**job)
        self._translate = self._job.translate(load)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[int]]:
        blocks = (
            Block(str(path), int(start), int(stop), str(output))
            for path, start, stop, output in zip(
                batch["path"], batch["start"], batch["stop"], batch["output"], strict=True
            )
        )
        side = self._job.side
        return {"num_lines": [block.translate(self._translate, side) for block in blocks]}
