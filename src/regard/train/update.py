"""One update of the weights: gradients from some batches, clipping, Adam.

On a GPU with packed batches every step has the same shapes. So it is recorded once as CUDA graphs (the gradients of a
batch; the optimizer's step) and replayed from then on. Otherwise a small model's step would spend most of its time
waiting for the host to launch kernels.
"""

import math
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import AdamW

from regard.config import TrainConfig
from regard.model.transformer import Model
from regard.train.batches import DeviceBatch
from regard.train.loss import BatchLoss, Sums, Tensors, autocast
from regard.train.memory import OutOfMemory, is_out_of_memory
from regard.train.optimizer import Guard, set_rate, step_unless
from regard.train.parallel import Processes, gradient_sync, whole

STEPS_BEFORE_RECORDING = 3
"""Steps before the recording, so that compiled code, memory pools and Adam's moments exist by then."""


class Updater:
    """Makes updates step by step, or by replaying a recording of one."""

    def __init__(
        self, model: Model, optimizer: AdamW, settings: TrainConfig, *, longest: int, loss: nn.Module | None = None
    ) -> None:
        self.model, self.optimizer, self.settings = model, optimizer, settings
        self.longest = longest
        self.device = next(model.parameters()).device
        self._loss = loss or BatchLoss(model, settings)
        if model.config.position == "sinusoidal":
            # Computing the sines anew in each step would take longer, above all in compiled code.
            for side in model.sides.values():
                side.position.tabulate(longest, self.device)
        self._num_targets = torch.ones((), device=self.device)
        self.guard = Guard(self.device)
        alone = type(self._loss) is BatchLoss  # neither wrapped by DDP nor made another class by FSDP
        self.records = self.device.type == "cuda" and bool(settings.packing) and alone
        """whether steps are recorded; then all batches have one shape"""
        self._num_updates = 0
        self._recorded: Recording | None = None
        self.stream = torch.cuda.Stream(self.device) if self.records else None

    def own_stream(self) -> AbstractContextManager[object]:
        """A stream for the whole run: recorded work must never have run on the default stream."""
        if self.stream is None:
            return nullcontext()
        self.stream.wait_stream(torch.cuda.default_stream(self.device))
        return torch.cuda.stream(self.stream)

    def __call__(self, batches: list[DeviceBatch], rate: float, num_targets: Tensor | float | None = None) -> Sums:
        """One step of the optimizer.

        The loss is the mean over all target tokens of the batches, or of `num_targets` where other processes have
        batches of the step as well.
        """
        try:
            sums = self.gather(batches, num_targets)
            self.advance(rate)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            most = max(each.tensors.source.numel() + each.tensors.target_input.numel() for each in batches)
            reason = str(error).split("\n")[0]
            raise OutOfMemory(
                f"memory must hold {most:,} tokens and the optimizer's moments: it does not ({reason}); lower batch_tokens or "
                "max_length, or take a smaller size"
            ) from error
        return sums

    def advance(self, rate: float) -> None:
        """Clip and apply the gradients that `gather` has left."""
        set_rate(self.optimizer, rate)
        if self._recorded is None:
            self.apply()
            self.forget()
        else:
            self._recorded.application.replay()
        self._num_updates += 1

    def gather(self, batches: list[DeviceBatch], num_targets: Tensor | float | None = None) -> Sums:
        """The gradients of one step."""
        if num_targets is None:
            num_targets = sum(batch.num_targets for batch in batches)
        self._num_targets.fill_(num_targets)
        if self.records and self._num_updates == STEPS_BEFORE_RECORDING:
            self._recorded = Recording(self, batches)
        if self._recorded is None:
            totals = []
            for i, batch in enumerate(batches, start=1):
                with gradient_sync(self._loss, last=i == len(batches)):
                    tensors = (t.to(self.device, non_blocking=True) for t in batch.tensors)
                    totals.append(self.accumulate(Tensors(*tensors), batch.packed))
        else:
            totals = self._recorded.gradients_of(batches)
        return Sums(*(torch.stack(parts).sum() for parts in zip(*totals, strict=True)))

    def forget(self) -> None:
        """Drop the gradients of a finished step."""
        self.optimizer.zero_grad(set_to_none=True)

    def accumulate(self, tensors: Tensors, packed: bool) -> Sums:
        """Add the gradients of one batch to those gathered so far."""
        precision = self.settings.precision
        with fastest_products(self.device, precision):
            with autocast(self.device, precision):
                sums = self._loss(tensors, packed=packed, longest=self.longest)
            (sums.loss / self._num_targets).backward()
        return Sums(sums.loss.detach(), sums.negative_log_likelihood.detach())

    def apply(self) -> None:
        """Clip the gathered gradients and let Adam apply them, unless the guard rejects them."""
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        norm = whole(torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None]))
        if self.settings.clip:
            torch.nn.utils.clip_grads_with_norm_(parameters, self.settings.clip, norm)
        self.guard.judge(norm)
        step_unless(self.optimizer, self.guard.skips)


class Meter:
    """Mean losses and speed since the last reading; the host waits for the device only when it reads."""

    def __init__(self, device: torch.device) -> None:
        self._sums = torch.zeros(3, device=device)
        self.restart()

    def restart(self) -> None:
        self._sums.zero_()
        self.num_steps = self._num_tokens = 0
        self._since = time.perf_counter()

    def add(self, batches: list[DeviceBatch], sums: Sums, skips: Float[Tensor, ""]) -> None:
        """Count one step; the loss of a skipped one, which may be NaN, is left out."""
        num_targets = sums.loss.new_full((), sum(batch.num_targets for batch in batches))
        found = torch.stack([*sums, num_targets])
        self._sums += found.where(skips == 0, 0.0)
        self._num_tokens += sum(batch.num_tokens for batch in batches)
        self.num_steps += 1

    def read(self, processes: Processes) -> tuple[float, float, float]:
        """Loss and plain cross-entropy for each target token, and tokens a second, over all processes; then restart.

        The losses are NaN where every step was skipped.
        """
        loss, plain, num_targets = processes.add(self._sums).tolist()
        loss, plain = (value / num_targets if num_targets else math.nan for value in (loss, plain))
        num_tokens = processes.add(torch.tensor(self._num_tokens)).item()
        speed = num_tokens / (time.perf_counter() - self._since)
        self.restart()
        return loss, plain, speed


@contextmanager
def fastest_products(device: torch.device, precision: str) -> Iterator[None]:
    """On ARM processors torch's BLAS multiplies fp32 faster than oneDNN, torch's first choice."""
    affected = device.type == "cpu" and precision != "bf16" and platform.machine() == "aarch64"
    one_dnn: Any = torch.backends.mkldnn  # its stubs have no setter
    before = one_dnn.enabled
    one_dnn.enabled = before and not affected
    try:
        yield
    finally:
        one_dnn.enabled = before


class Recording:
    """The CUDA graphs of a step, and the fixed memory they read and write."""

    def __init__(self, updater: Updater, examples: list[DeviceBatch]) -> None:
        self._inputs = Tensors(*(t.to(updater.device, copy=True) for t in examples[0].tensors))
        self._sums: list[Sums] = []
        pool = torch.cuda.graph_pool_handle()

        def gather() -> None:
            self._sums.append(updater.accumulate(self._inputs, packed=True))

        # The first batch of a step writes the gradients, which spares zeroing and adding; further batches add.
        updater.forget()
        self._gatherings = [_record(gather, updater.stream, pool) for _ in range(min(2, len(examples)))]
        self.application = _record(updater.apply, updater.stream, pool)

    def gradients_of(self, batches: list[DeviceBatch]) -> list[Sums]:
        totals = []
        for i, batch in enumerate(batches):
            for place, tensor in zip(self._inputs, batch.tensors, strict=True):
                place.copy_(tensor, non_blocking=True)
            self._gatherings[min(i, 1)].replay()
            totals.append(Sums(*(value.clone() for value in self._sums[min(i, 1)])))
        return totals


def _record(work: Callable[[], None], stream: torch.cuda.Stream | None, pool: Any) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    # Meanwhile the prefetching threads allocate memory, which must not end the recording.
    with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
        work()
    return graph
