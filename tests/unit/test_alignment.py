"""Attention of recurrent decoders on paper."""

import math

import pytest
import torch

from regard.config import ModelConfig
from regard.model.recurrent.attention import AdditiveEnergies, Alignment
from regard.trace import Trace

STATE = torch.tensor([[[1.0, 0.0]]])
"""one decoder state"""
MEMORY = torch.tensor([[[2.0, 0.0], [0.0, 4.0], [5.0, 5.0]]])
"""two source words, and padding"""
SEEN = torch.tensor([[[True, True, False]]])


def look(attention: str, **weights: object) -> Trace:
    config = ModelConfig(architecture="gru", attention=attention, position="none", d_state=2)
    module = Alignment(config)
    with torch.no_grad():
        for name, values in weights.items():
            module.get_parameter(name.replace("__", ".")).copy_(torch.tensor(values))
    trace = Trace()
    context = module(STATE, module.keys(MEMORY, trace=trace), MEMORY, SEEN, trace=trace)
    assert torch.equal(context, trace["context"][:, 0])
    return trace


def assert_row(actual: torch.Tensor, expected: list[float]) -> None:
    assert actual.flatten().tolist() == pytest.approx(expected, abs=1e-6)


def test_dot():
    """s = (1, 0) against (2, 0) and (0, 4): energies 2 and 0, so the first gets e^2 of e^2 + 1."""
    trace = look("dot")
    first = math.e**2 / (math.e**2 + 1)
    assert_row(trace["energies"], [2, 0, 5])
    assert_row(trace["masked"], [2, 0, -math.inf])
    assert_row(trace["weights"], [first, 1 - first, 0])
    assert_row(trace["context"], [2 * first, 4 * (1 - first)])


def test_general():
    """W swaps the features of h, so that s now finds the second word."""
    trace = look("general", key__weight=[[0.0, 1.0], [1.0, 0.0]])
    assert_row(trace["key"], [0, 2, 4, 0, 5, 5])
    second = math.e**4 / (math.e**4 + 1)
    assert_row(trace["energies"], [0, 4, 5])
    assert_row(trace["weights"], [1 - second, second, 0])


def test_additive():
    """W s = (1, 1), U h = half of h, v = (1, 2)."""
    trace = look(
        "additive", query__weight=[[1.0, 0.0], [1.0, 0.0]], key__weight=[[0.5, 0.0], [0.0, 0.5]], energy=[1.0, 2.0]
    )
    energies = [math.tanh(1 + 1) + 2 * math.tanh(1 + 0), math.tanh(1 + 0) + 2 * math.tanh(1 + 2)]
    assert_row(trace["query"], [1, 1])
    assert_row(trace["energies"][..., :2], energies)
    powers = [math.exp(each) for each in energies]
    weights = [power / sum(powers) for power in powers]
    assert_row(trace["weights"], [*weights, 0])
    assert_row(trace["context"], [2 * weights[0], 4 * weights[1]])


def test_additive_energies_and_their_gradient_are_those_of_the_formula():
    query, key, vector = (
        torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3, 7), (2, 5, 7), (7,))
    )
    ours = AdditiveEnergies.apply(query, key, vector)
    plain = ((query[:, :, None] + key[:, None]).tanh() * vector).sum(dim=-1)
    torch.testing.assert_close(ours, plain)
    toward = torch.randn_like(plain)
    for mine, expected in zip(
        torch.autograd.grad(ours, (query, key, vector), toward),
        torch.autograd.grad(plain, (query, key, vector), toward),
        strict=True,
    ):
        torch.testing.assert_close(mine, expected)
