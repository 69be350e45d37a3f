"""Several processes train one model: `torchrun --nproc-per-node 2 -m regard train ...`.

Every process reads the same stream of batches and computes its share of each update, so the order of the text does
not depend on their number. Results are added over all processes: the gradients by torch (DDP, each process with all
weights; or FSDP2, each with a part of weights and moments), losses and translations here, as plain numbers and text.
Only the first process writes files.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from regard.errors import TrainingError, UsageError
from regard.model.linear import merged
from regard.model.transformer import Model, build
from regard.train.rendezvous import TIMEOUT, connect, lost_process, time_limit

PATIENCE = datetime.timedelta(hours=12)
"""Timeout while text is read or translated. A process that ends is noticed earlier, by torchrun."""
_CONNECTION = ("Connection", "gloo", "NCCL", "Timed out", "peer")
"""Substrings of RuntimeError messages that mean that another process is gone."""


class Processes:
    """The processes that train together; by default this one alone."""

    def __init__(self, rank: int = 0, size: int = 1, local_rank: int = 0) -> None:
        self.rank, self.size, self.local_rank = rank, size, local_rank
        self._patient: Any = None
        self._known: Any = None

    @classmethod
    def from_environment(cls) -> Processes:
        """The processes that torchrun has started."""
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
        if any(name not in os.environ for name in names) or os.environ["WORLD_SIZE"] == "1":
            return cls()
        return cls(*(int(os.environ[name]) for name in names))

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def alone(self) -> bool:
        return self.size == 1

    @contextmanager
    def joined(self, *, on_gpu: bool) -> Iterator[None]:
        """Connect with the others, and disconnect at the end."""
        if self.alone:
            yield
            return
        if on_gpu:
            torch.cuda.set_device(self.local_rank)
        backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
        try:
            with time_limit(TIMEOUT):
                store, self._known = connect(is_first=self.is_first)
                dist.init_process_group(backend, store=store, rank=self.rank, world_size=self.size, timeout=TIMEOUT)
                self._patient = dist.new_group(timeout=PATIENCE, backend="gloo")
            yield
            self.wait()  # the first one holds the store
        except RuntimeError as error:
            is_lost = any(word in str(error) for word in _CONNECTION)
            if not is_lost and not isinstance(error, dist.DistError):
                raise
            reason = lost_process(f"one has ended ({str(error).splitlines()[0]})")
            raise TrainingError(reason) from error
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()

    def check(self, accumulate: int) -> None:
        """Refuse a new run whose updates cannot be shared evenly."""
        if accumulate % self.size:
            raise UsageError(f"accumulate must be a multiple of the {self.size} processes: got {accumulate}; raise it")

    def merged(self, position: dict[str, Any]) -> dict[str, Any]:
        """The position in the data of all processes; each knows only the lanes it reads."""
        if self.alone or "lanes" not in position:
            return position
        gathered = self._gather(position["lanes"])
        lanes = {lane: place for each in gathered for lane, place in each.items()}
        return {**position, "lanes": lanes}

    def agree(self, *numbers: float) -> tuple[float, ...]:
        """The maximum of each number over all processes."""
        if self.alone:
            return numbers
        held = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(held, dist.ReduceOp.MAX)
        return tuple(held.tolist())

    def total(self, number: int, device: torch.device) -> Tensor | int:
        """The sum over all processes, on the gradients' device, so that the host does not wait."""
        if self.alone:
            return number
        held = torch.full((), float(number), device=device)
        dist.all_reduce(held)
        return held

    def add(self, sums: Tensor) -> Tensor:
        if self.alone:
            return sums
        held = sums.cpu()
        dist.all_reduce(held, group=self._patient)
        return held

    def wait(self) -> None:
        """A barrier with the long timeout."""
        self.add(torch.zeros(1))

    def shared(self, work: Callable[[Sequence[str]], list[str]], items: Sequence[str]) -> list[str]:
        """`work` on all items, divided among the processes; each gets all results, in order."""
        mine = work(items[self.rank :: self.size])
        if self.alone:
            return mine
        results = [""] * len(items)
        for rank, texts in enumerate(self._gather(mine)):
            results[rank :: self.size] = texts
        return results

    def _gather(self, value: Any) -> list[Any]:
        """The values of all processes. Sent as JSON: torch's own way would pickle them."""
        mine = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        dist.all_gather(sizes, torch.tensor([len(mine)]), group=self._patient)
        longest = int(max(sizes))
        padded = torch.cat([mine, mine.new_zeros(longest - len(mine))])
        held = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(held, padded, group=self._patient)
        return [json.loads(bytes(each[: int(size)].tolist())) for each, size in zip(held, sizes, strict=True)]

    def wrap(self, loss: nn.Module, *, sharded: bool) -> nn.Module:
        """The loss with gradients over all processes. Call it before the optimizer is made."""
        if self.alone:
            return loss
        if sharded:
            # One group, gathered for a step: layers share products of their weights, so none can be gathered
            # alone. Between steps each process keeps a part, of the moments too. Changes the module's class.
            fully_shard(loss)
            return loss
        return DistributedDataParallel(loss, gradient_as_bucket_view=True)


def gradient_sync(loss: nn.Module, *, last: bool) -> AbstractContextManager[object]:
    """Around the passes of one batch: gradients are exchanged only after the last batch of an update."""
    if isinstance(loss, FSDPModule):
        loss.set_requires_gradient_sync(last)
    elif isinstance(loss, DistributedDataParallel) and not last:
        return loss.no_sync()
    return nullcontext()


def whole(tensor: Tensor) -> Tensor:
    """The whole of a tensor that may be sharded; then all processes must call this."""
    tensor = tensor.detach()
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def fill(place: Tensor, values: Tensor) -> None:
    """Copy into a tensor that may be sharded."""
    with torch.no_grad():
        if isinstance(place, DTensor):
            values = distribute_tensor(values.to(place.device), place.device_mesh, place.placements, src_data_rank=None)
        place.copy_(values)


def whole_model(model: Model) -> Model:
    """The model itself; of a sharded or adapted one a whole copy with plain weights."""
    if all(parameter.requires_grad and not isinstance(parameter, DTensor) for parameter in model.parameters()):
        return model
    copy = build(model.config).to(next(model.parameters()))
    copy.load_state_dict(merged({name: whole(value) for name, value in model.state_dict().items()}))
    return copy.eval()
