"""How many tokens a second 1 to 1,024 GPUs would train on: measured computing, stated networks.

Nothing here was measured on more than one GPU. A step of a process is its computing, what of the exchange of gradients
is not hidden behind the backward pass, and the messages in which all processes agree about time and signals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

GPUS = tuple(2**power for power in range(11))
BYTES_A_GRADIENT = 4
UNRECORDED = 33 / 30
"""a step that is compiled to one that is recorded as well, which processes that exchange gradients are not: docs/log.md"""
LOOKS_EVERY = 20
"""steps between two agreements about time and signals, on GPUs"""


@dataclass(frozen=True)
class Work:
    """A model as one GPU trains it."""

    name: str
    num_parameters: int
    tokens_a_step: int
    tokens_a_second: float
    """of one process; measured"""
    seconds_empty: float = 0.0
    """of a step that would have no tokens; from measurements with two sizes of a batch"""

    @property
    def seconds(self) -> float:
        return self.tokens_a_step / self.tokens_a_second

    def seconds_with(self, tokens: float) -> float:
        """Of a step with so many."""
        each = (self.seconds - self.seconds_empty) / self.tokens_a_step
        return self.seconds_empty + each * tokens


# docs/log.md: on one H200, 65,536 tokens a step; base with 16,384 as well.
BASE = Work("base", 60_522_496, 65_536, 1_886_526, 0.00263)
BIG = Work("big", 209_125_376, 65_536, 732_260)


@dataclass(frozen=True)
class Network:
    """What processes are connected by. Bandwidths are those of one process in one direction, as NCCL reaches them."""

    name: str
    a_node: int
    """processes on one machine"""
    within: float
    """bytes a second on one machine"""
    between: float
    """bytes a second between machines"""
    latency: float
    """seconds of a hop of NCCL between machines"""
    tcp_latency: float
    """seconds of a hop of gloo, which sends the agreements over TCP"""
    hidden: float = 0.8
    """part of the backward pass behind which an exchange can hide"""


BACKWARD = 2 / 3
"""of the computing of a step"""

NVLINK_AND_INFINIBAND = Network("8 a machine, InfiniBand NDR", 8, 350e9, 40e9, 10e-6, 30e-6)
NVLINK_AND_ETHERNET = Network("8 a machine, 100 Gbit Ethernet", 8, 350e9, 1.2e9, 40e-6, 30e-6)


def exchange_seconds(num_bytes: float, size: int, network: Network) -> float:
    """An all-reduce of the gradients: a ring on each machine, and one across machines for each of its GPUs."""
    within = min(size, network.a_node)
    machines = size // within
    volume = 2 * (within - 1) / within * num_bytes / network.within
    if machines == 1:
        return volume
    # Each GPU exchanges its part with those of the same place on other machines.
    across = 2 * (machines - 1) / machines * (num_bytes / within) / network.between
    return volume + across + 2 * math.log2(machines) * network.latency


def agreement_seconds(size: int, network: Network) -> float:
    """gloo sends even a single number round a ring, twice; on GPUs all agree only now and then."""
    return 2 * (size - 1) * network.tcp_latency / LOOKS_EVERY


def together(computing: float, exchange: float, hidden: float) -> float:
    """Seconds of a step: an exchange takes time where it is longer than what it hides behind."""
    return computing + max(0.0, exchange - hidden * BACKWARD * computing)


def step_seconds(work: Work, size: int, network: Network, tokens: float | None = None) -> float:
    """With so many tokens for each process, or with as many as were measured."""
    computing = work.seconds if tokens is None else work.seconds_with(tokens)
    if size == 1:
        return computing
    exchange = exchange_seconds(BYTES_A_GRADIENT * work.num_parameters, size, network)
    step = together(UNRECORDED * computing, exchange, network.hidden)
    return step + agreement_seconds(size, network)


def tokens_a_second(work: Work, size: int, network: Network) -> float:
    """When every process has a batch of its own, so that an update grows with them."""
    return size * work.tokens_a_step / step_seconds(work, size, network)


def tokens_a_second_shared(work: Work, size: int, network: Network, update: int) -> float:
    """When an update stays as large as it is, and each process has its part of it."""
    tokens = update / size
    if tokens > work.tokens_a_step:  # several batches, of which the last exchanges
        more = (tokens / work.tokens_a_step - 1) * work.seconds * (UNRECORDED if size > 1 else 1)
        return update / (more + step_seconds(work, size, network))
    return update / step_seconds(work, size, network, tokens)


def breaks_at(work: Work, network: Network, efficiency: float = 0.8) -> int | None:
    """The first number of GPUs at which less than so much of their speed is left."""
    for size in GPUS:
        if tokens_a_second(work, size, network) < efficiency * size * work.tokens_a_second:
            return size
    return None
