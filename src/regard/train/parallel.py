"""Several processes train one model: `torchrun --nproc-per-node 2 -m regard train ...`.

Every process reads the same stream of batches and makes its share of each update's, so the order of the text does
not depend on their number. What they find is added over all of them: the gradients by torch (DDP, each process with
all weights; or FSDP2, each with a part of weights and moments), losses and translations here, as plain numbers and
text. The first process alone writes.
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
from regard.model.transformer import Model, build
from regard.text.tokenizer import PAD_ID
from regard.train.feed import Fed
from regard.train.loss import Sums, Tensors
from regard.train.meeting import TIMEOUT, meet
from regard.train.watch import Watch, ended_after, lost

PATIENCE = datetime.timedelta(hours=12)
"""while text is read, or translated: one that ends is noticed at once all the same, one that is stopped by the watch"""

Loss = Callable[..., Sums]


class LossModule(nn.Module):
    """The loss of a batch as a module, which is what torch's wrappers take hold of."""

    def __init__(self, model: Model, loss: Loss) -> None:
        super().__init__()
        self.model, self.loss = model, loss

    def forward(self, tensors: Tensors, **options: Any) -> Sums:
        return self.loss(self.model, tensors, **options)


class Processes:
    """Those that train together; by default just this one."""

    def __init__(self, rank: int = 0, size: int = 1, local_rank: int = 0) -> None:
        self.rank, self.size, self.local_rank = rank, size, local_rank
        self._patient: Any = None
        self._known: Any = None
        self._watch: Watch | None = None

    @classmethod
    def from_environment(cls) -> Processes:
        """As torchrun has started them."""
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
        if any(name not in os.environ for name in names) or os.environ["WORLD_SIZE"] == "1":
            return cls()
        return cls(*(int(os.environ[name]) for name in names))

    @property
    def local_size(self) -> int:
        """How many of them are on this machine."""
        return 1 if self.alone else int(os.environ.get("LOCAL_WORLD_SIZE", self.size))

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def alone(self) -> bool:
        return self.size == 1

    @property
    def restarted(self) -> bool:
        """Whether torchrun has started this one again after one had ended."""
        return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0

    @contextmanager
    def joined(self, *, on_gpu: bool) -> Iterator[None]:
        """Connected with the others."""
        if self.alone:
            yield
            return
        if on_gpu:
            torch.cuda.set_device(self.local_rank)
        try:
            self._connect("cpu:gloo,cuda:nccl" if on_gpu else "gloo")
            yield
            self._part()
        except dist.DistError as error:
            raise TrainingError(_lost(error)) from error
        except RuntimeError as error:
            if not any(word in str(error) for word in _CONNECTION):
                raise
            raise TrainingError(_lost(error)) from error
        finally:
            if self._watch is not None:
                self._watch.end()
            if dist.is_initialized():
                dist.destroy_process_group()

    def _connect(self, backend: str) -> None:
        with ended_after(TIMEOUT):
            store, self._known = meet(is_first=self.is_first)
            dist.init_process_group(
                backend, store=store, rank=self.rank, world_size=self.size, timeout=TIMEOUT
            )
            self._patient = dist.new_group(timeout=PATIENCE, backend="gloo")
            self._watch = Watch(store, self.rank, self.size)

    def _part(self) -> None:
        """When all are done. Who left before could not notice that the first stands still while it writes the model."""
        self.wait()
        assert self._watch is not None
        self._watch.end()
        self.agree(0.0)  # nobody asks one that has gone

    def check(self, accumulate: int) -> None:
        """Refuse a new run whose updates cannot be shared evenly."""
        if accumulate % self.size:
            raise UsageError(
                f"accumulate must be a multiple of the {self.size} processes, which share an update's "
                f"batches: got {accumulate}; raise it, with smaller batch_tokens if need be"
            )

    def share(self, batches: Sequence[Fed | None]) -> list[Fed]:
        """This process's part of an update's batches; where there are too few, one that counts nothing."""
        mine = [fed for fed in batches[self.rank :: self.size] if fed is not None]
        return mine or [_without_answers(next(fed for fed in batches if fed is not None))]

    @contextmanager
    def first_before_others(self) -> Iterator[None]:
        """What the first process does and leaves in files, before the others do it with what they find."""
        if not self.is_first:
            self.wait()
        yield
        if self.is_first:
            self.wait()

    def merged(self, position: dict[str, Any]) -> dict[str, Any]:
        """Where all stand in the data, of which each knows the lanes that it reads."""
        if self.alone or "lanes" not in position:
            return position
        lanes: dict[str, Any] = {}
        for each in self._gather(position["lanes"]):
            lanes |= each
        return {**position, "lanes": lanes}

    def seed(self, seed: int, step: int) -> None:
        """Let each process draw other numbers, the same ones whenever it comes to this step."""
        if not self.alone:
            torch.manual_seed((seed << 40) + (step << 12) + self.rank)

    def agree(self, *numbers: float) -> tuple[float, ...]:
        """The largest of each that any process has."""
        if self.alone:
            return numbers
        held = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(held, dist.ReduceOp.MAX)
        return tuple(held.tolist())

    def total(self, number: int, device: torch.device) -> Tensor | int:
        """Summed over all processes, where the gradients are, so that nobody waits for it."""
        if self.alone:
            return number
        held = torch.full((), float(number), device=device)
        dist.all_reduce(held)
        return held

    def add(self, sums: Tensor) -> Tensor:
        """Summed over all processes."""
        if not self.alone:
            held = sums.cpu()
            dist.all_reduce(held, group=self._patient)
            sums = held
        return sums

    def wait(self) -> None:
        """For all to come here, however long that takes."""
        self.add(torch.zeros(1))

    def shared(self, work: Callable[[Sequence[str]], list[str]], items: Sequence[str]) -> list[str]:
        """`work` on all items, each process doing some of them; everyone gets all, in order."""
        mine = work(items[self.rank :: self.size])
        if self.alone:
            return mine
        results = [""] * len(items)
        for rank, texts in enumerate(self._gather(mine)):
            results[rank :: self.size] = texts
        return results

    def _gather(self, given: Any) -> list[Any]:
        """What everyone gives. As JSON: torch's own way of sending objects would pickle it."""
        mine = torch.frombuffer(bytearray(json.dumps(given).encode()), dtype=torch.uint8)
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        dist.all_gather(sizes, torch.tensor([len(mine)]), group=self._patient)
        longest = int(max(sizes))
        padded = torch.cat([mine, mine.new_zeros(longest - len(mine))])
        held = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(held, padded, group=self._patient)
        return [
            json.loads(bytes(each[: int(size)].tolist()))
            for each, size in zip(held, sizes, strict=True)
        ]

    def wrap(self, model: Model, loss: Loss, *, sharded: bool) -> Wrapped:
        """The loss, whose gradients will be those of all processes. Before an optimizer is made."""
        module = LossModule(model, loss)
        if self.alone:
            return Wrapped(module)
        if sharded:
            # As one group, gathered for a step: layers share products of their weights, so none can be gathered
            # alone. What is kept between steps, and the moments, is a part. Changes the module's class.
            fully_shard(module)
            return Wrapped(module)
        return Wrapped(DistributedDataParallel(module, gradient_as_bucket_view=True))


class Wrapped:
    """The loss of a batch; gradients are exchanged only for the last batch of an update."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.alone = not isinstance(module, (FSDPModule, DistributedDataParallel))
        """whether no other process takes part in it"""

    def __call__(self, tensors: Tensors, **options: Any) -> Sums:
        found: Sums = self.module(tensors, **options)
        return found

    def gathering(self, *, last: bool) -> AbstractContextManager[object]:
        """Around the passes of one batch, forward and backward."""
        if isinstance(self.module, FSDPModule):
            self.module.set_requires_gradient_sync(last)
        elif isinstance(self.module, DistributedDataParallel) and not last:
            return self.module.no_sync()
        return nullcontext()


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor of which each process may hold a part; then all of them must ask for it."""
    tensor = tensor.detach()
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def fill(place: Tensor, values: Tensor) -> None:
    """Copy into a tensor the part that this process holds of it."""
    with torch.no_grad():
        if isinstance(place, DTensor):
            values = distribute_tensor(
                values.to(place.device), place.device_mesh, place.placements, src_data_rank=None
            )
        place.copy_(values)


def whole_model(model: Model) -> Model:
    """The model itself, or where each process has a part of it one that is there as a whole."""
    if not any(isinstance(parameter, DTensor) for parameter in model.parameters()):
        return model
    device = next(model.parameters()).device
    copy = build(model.config).to(device)
    for place, value in zip(_values(copy), _values(model), strict=True):
        fill(place, whole(value))
    return copy.eval()


def _values(model: Model) -> Iterator[Tensor]:
    """Every weight, and the statistics of norms that have some."""
    yield from model.parameters()
    yield from model.buffers()


def _without_answers(fed: Fed) -> Fed:
    nothing = torch.full_like(fed.tensors.target_output, PAD_ID)
    return fed._replace(
        tensors=fed.tensors._replace(target_output=nothing), num_targets=0, num_tokens=0
    )


_CONNECTION = ("Connection", "gloo", "NCCL", "Timed out", "peer")
"""words of errors that mean that another process is gone"""


def _lost(error: BaseException) -> str:
    return lost(f"one has ended ({str(error).splitlines()[0]})")
