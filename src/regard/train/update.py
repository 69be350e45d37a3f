"""One update of the weights: gradients from some batches, clipping, Adam.

On a GPU with packed batches every step has the same shapes, so it is recorded once as CUDA graphs
(gradients of a batch; the optimizer's step) and replayed from then on. A small model's step would
otherwise spend most of its time waiting for the host to launch kernels.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor

from regard.config import TrainConfig
from regard.model.transformer import Model
from regard.train.contrast import contrastive_loss
from regard.train.feed import Fed
from regard.train.guard import Guard
from regard.train.loss import Sums, Tensors, batch_loss
from regard.train.optimizer import set_rate, step_unless
from regard.train.parallel import Loss, LossModule, Wrapped, whole

STEPS_BEFORE_RECORDING = 3
"""done as usual, so that compiled code, memory pools and Adam's moments exist before the recording"""


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """bf16 matrix products where asked for, or by default on a GPU; the weights stay fp32."""
    enabled = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    # A cache of converted weights would outlive the recording it was made in.
    return torch.autocast(device.type, torch.bfloat16, enabled=enabled, cache_enabled=False)


@contextmanager
def fastest_products(device: torch.device, precision: str) -> Iterator[None]:
    """On ARM processors torch's BLAS multiplies fp32 faster than oneDNN, which is asked first by default."""
    affected = device.type == "cpu" and precision != "bf16" and platform.machine() == "aarch64"
    one_dnn: Any = torch.backends.mkldnn  # whose stubs do not know that a setting can be set
    before = one_dnn.enabled
    one_dnn.enabled = before and not affected
    try:
        yield
    finally:
        one_dnn.enabled = before


def loss_for(settings: TrainConfig, device: torch.device) -> Loss:
    """What the settings say is to be minimised, of a batch and its layout."""
    if settings.objective == "contrastive":
        loss: Loss = contrastive_loss
        options = {"temperature": settings.contrast_temperature}
    else:
        loss = batch_loss
        smoothing = settings.label_smoothing or 0.0
        options = {"label_smoothing": smoothing, "r_drop": settings.r_drop}
        # Elsewhere a step may be cut in parts, one of which has more blanks than its share.
        if settings.objective == "masked" and settings.packing and device.type == "cuda":
            options["asked_share"] = settings.mask_share
    return partial(compiled(loss, device) if settings.compile else loss, **options)


def compiled(loss: Loss, device: torch.device) -> Loss:
    """One graph for batches of one shape."""
    # Summing a norm's gradient over tokens and over features in one kernel is slower than in two.
    in_two = device.type == "cuda"
    return torch.compile(
        loss, dynamic=False, options={"triton.mix_order_reduction": False} if in_two else None
    )


class Updater:
    """Does updates, by itself or by replaying a recording of them."""

    def __init__(
        self,
        model: Model,
        optimizer: torch.optim.AdamW,
        settings: TrainConfig,
        *,
        longest: int,
        loss: Wrapped | None = None,
    ) -> None:
        self.model, self.optimizer, self.settings = model, optimizer, settings
        self.longest = longest
        self.device = next(model.parameters()).device
        self._loss = loss or Wrapped(LossModule(model, loss_for(settings, self.device)))
        if model.config.position == "sinusoidal":
            # A sine for every number that is added would take longer, most of all in compiled code.
            for side in model.sides.values():
                side.position.tabulate(longest, self.device)
        self._num_targets = torch.ones((), device=self.device)
        self.guard = Guard(self.device)
        alone = self._loss.alone
        self.records = self.device.type == "cuda" and bool(settings.packing) and alone
        """whether all batches must have one shape, that of the recording"""
        divisible = settings.objective != "contrastive"
        self.can_retry = alone and not self.records and divisible
        """whether a step that failed can be done again in parts: nobody else takes part in it, nor do its pairs
        count for one another"""
        self._num_updates = 0
        self._recorded: Recording | None = None
        self.stream = torch.cuda.Stream(self.device) if self.records else None

    def own_stream(self) -> AbstractContextManager[object]:
        """What is recorded must never have run on the default stream; so nothing of a run does."""
        if self.stream is None:
            return nullcontext()
        self.stream.wait_stream(torch.cuda.default_stream(self.device))
        return torch.cuda.stream(self.stream)

    def __call__(self, batches: list[Fed], rate: float) -> Sums:
        """One step of the optimizer; the loss is the mean over all target tokens of the batches."""
        sums = self.gather(batches)
        self.advance(rate)
        return sums

    def advance(self, rate: float) -> None:
        """Use the gradients that `gather` has left."""
        set_rate(self.optimizer, rate)
        if self._recorded is None:
            self.apply()
            self.forget()
        else:
            self._recorded.application.replay()
        self._num_updates += 1

    def gather(self, batches: list[Fed], num_targets: Tensor | float | None = None) -> Sums:
        """The gradients of one step; when it fails, `forget` makes room for another try.

        num_targets: by which the sums are divided, where other processes have batches of the step as well.
        """
        if num_targets is None:
            num_targets = sum(fed.num_targets for fed in batches)
        self._num_targets.fill_(num_targets)
        if self.records and self._num_updates == STEPS_BEFORE_RECORDING:
            self._recorded = Recording(self, batches)
        if self._recorded is None:
            totals = []
            for i, fed in enumerate(batches, start=1):
                with self._loss.gathering(last=i == len(batches)):
                    totals.append(self._gradients_of(fed))
        else:
            totals = self._recorded.gradients_of(batches)
        return Sums(*(torch.stack(parts).sum() for parts in zip(*totals, strict=True)))

    def forget(self) -> None:
        """Drop the gradients, of a step that is done or that could not be finished."""
        self.optimizer.zero_grad(set_to_none=True)

    def _gradients_of(self, fed: Fed) -> Sums:
        tensors = Tensors(*(t.to(self.device, non_blocking=True) for t in fed.tensors))
        return self.accumulate(tensors, fed.packed)

    def accumulate(self, tensors: Tensors, packed: bool) -> Sums:
        """Add the gradients of one batch to what has been gathered."""
        precision = self.settings.precision
        with fastest_products(self.device, precision):
            with autocast(self.device, precision):
                sums = self._loss(tensors, packed=packed, longest=self.longest)
            (sums.loss / self._num_targets).backward()
        return Sums(sums.loss.detach(), sums.negative_log_likelihood.detach())

    def apply(self) -> None:
        """Clip what has been gathered, and let Adam use it, unless it would do harm."""
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        norm = whole(
            torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        )
        if self.settings.clip:
            torch.nn.utils.clip_grads_with_norm_(parameters, self.settings.clip, norm)
        self.guard.judge(norm)
        step_unless(self.optimizer, self.guard.skips)


class Recording:
    """The graphs, and the fixed places in memory that they read from and write to."""

    def __init__(self, updater: Updater, examples: list[Fed]) -> None:
        self._inputs = Tensors(*(t.to(updater.device, copy=True) for t in examples[0].tensors))
        self._sums: list[Sums] = []
        pool = torch.cuda.graph_pool_handle()

        def gather() -> None:
            self._sums.append(updater.accumulate(self._inputs, packed=True))

        # The first batch of a step writes the gradients, which spares emptying their places and adding to
        # them; any further batch adds.
        updater.forget()
        self._gatherings = [
            _record(gather, updater.stream, pool) for _ in range(min(2, len(examples)))
        ]
        self.application = _record(updater.apply, updater.stream, pool)

    def gradients_of(self, batches: list[Fed]) -> list[Sums]:
        totals = []
        for i, fed in enumerate(batches):
            for place, tensor in zip(self._inputs, fed.tensors, strict=True):
                place.copy_(tensor, non_blocking=True)
            self._gatherings[min(i, 1)].replay()
            totals.append(Sums(*(value.clone() for value in self._sums[min(i, 1)])))
        return totals


def _record(
    work: Callable[[], None], stream: torch.cuda.Stream | None, pool: Any
) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    # The threads that make the next batches take memory the while, which must not end the recording.
    with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
        work()
    return graph
