"""The blocks of a job done by the processes of a Ray cluster, as a Ray Data job.

Ray starts the processes, hands each the next block, and starts one again that has died; its block is done anew. What
they have in common is the file system: the inputs, the output and the model must have the same paths on every machine.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from regard.errors import UsageError, how_to_install
from regard.translate.blockwise import Block, Job

LOCAL = "local"
"""in place of an address: a cluster of this machine alone, for this job"""


class OnRay:
    """Does blocks on a cluster: `local`, `auto` for the one this machine is in, or an address.

    num_workers: processes; without it as many as the cluster has cores, or GPUs if the model is to run on those.
    """

    def __init__(self, address: str, num_workers: int | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise UsageError(
                f"--ray needs the package ray, which is not installed: {how_to_install('ray')}"
            ) from error
        self._ray, self._address, self._num_workers = ray, address, num_workers

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
            fn_constructor_args=(asdict(job),),
            num_cpus=0 if unit == "GPU" else 1,
            num_gpus=1 if unit == "GPU" else None,
        )
        for row in done.iter_rows():
            yield int(row["num_lines"])

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        # Nothing is told to anyone of what is done, and nothing said that is not for the user.
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
    """In a process of the cluster: holds the model, and does blocks."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = Job(**job)
        self._translate = self._job.translate()

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[int]]:
        blocks = (
            Block(str(path), int(start), int(stop), str(output))
            for path, start, stop, output in zip(
                batch["path"], batch["start"], batch["stop"], batch["output"], strict=True
            )
        )
        side = self._job.side
        return {"num_lines": [block.translate(self._translate, side) for block in blocks]}
