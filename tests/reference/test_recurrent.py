"""The recurrent models against their equations, written out word by word in NumPy's double precision.

Nothing here is vectorised over words or sentences, and nothing of torch is called: what the models give must follow
from the formulas of Cho et al. 2014, Bahdanau et al. 2015 and Luong et al. 2015 alone.
"""

import numpy as np
import pytest
import torch

from regard.trace import Trace

D_MODEL, D_STATE = 18, 26
Weights = dict[str, np.ndarray]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def step(kind: str, w: Weights, cell: str, x: np.ndarray, state: np.ndarray) -> np.ndarray:
    """One cell, one word: `state` is [s] or, in an LSTM, [s, m]."""
    read = w[f"{cell}.weight_ih_l0"] @ x + w[f"{cell}.bias_ih_l0"]
    recalled = w[f"{cell}.weight_hh_l0"] @ state[0] + w[f"{cell}.bias_hh_l0"]
    if kind == "rnn":
        return np.array([np.tanh(read + recalled)])
    if kind == "gru":
        (read_r, read_z, read_n), (past_r, past_z, past_n) = (np.split(read, 3), np.split(recalled, 3))
        r, z = sigmoid(read_r + past_r), sigmoid(read_z + past_z)
        n = np.tanh(read_n + r * past_n)
        return np.array([(1 - z) * n + z * state[0]])
    i, f, g, o = np.split(read + recalled, 4)
    m = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return np.array([sigmoid(o) * np.tanh(m), m])


def softmax(energies: list[float]) -> np.ndarray:
    powers = [np.exp(e - max(energies)) for e in energies]
    return np.array([power / sum(powers) for power in powers])


def energy(attention: str, w: Weights, s: np.ndarray, h: np.ndarray) -> float:
    if attention == "dot":
        return float(sum(a * b for a, b in zip(s, h, strict=True)))
    if attention == "general":
        return float(s @ (w["decoder.attention.key.weight"] @ h))
    inside = np.tanh(w["decoder.attention.query.weight"] @ s + w["decoder.attention.key.weight"] @ h)
    return float(w["decoder.attention.energy"] @ inside)


def read(kind: str, w: Weights, source: list[int], num_layers: int) -> list[np.ndarray]:
    """h_j for each source word."""
    vectors = [w["source.embedding.weight"][token] * D_MODEL**0.5 for token in source]
    parts = 2 if kind == "lstm" else 1
    for i in range(num_layers):
        there, back = [], []
        state = np.zeros((parts, D_STATE // 2))
        for x in vectors:
            state = step(kind, w, f"encoder.layers.{i}.forwards", x, state)
            there.append(state[0])
        state = np.zeros((parts, D_STATE // 2))
        for x in reversed(vectors):
            state = step(kind, w, f"encoder.layers.{i}.backwards", x, state)
            back.insert(0, state[0])
        vectors = [np.concatenate(pair) for pair in zip(there, back, strict=True)]
    return vectors


def write(
    kind: str, attention: str, w: Weights, memory: list[np.ndarray], target: list[int], layers: int
) -> tuple[np.ndarray, np.ndarray]:
    """The logits after each target word, and the alignment."""
    half, parts = D_STATE // 2, 2 if kind == "lstm" else 1
    fixed = np.concatenate([memory[-1][:half], memory[0][half:]])
    begin = fixed if attention == "none" else memory[0][half:]
    initial = np.tanh(w["decoder.initial.weight"] @ begin + w["decoder.initial.bias"])
    states = list(initial.reshape(layers, parts, D_STATE))
    logits, alignment = [], []

    def look(s: np.ndarray) -> np.ndarray:
        weights = softmax([energy(attention, w, s, h) for h in memory])
        alignment.append(weights)
        return np.sum([weight * h for weight, h in zip(weights, memory, strict=True)], axis=0)

    for token in target:
        y = w["target.embedding.weight"][token] * D_MODEL**0.5
        context, x = fixed, y
        if attention == "additive":
            context = look(states[-1][0])
        if attention in ("none", "additive"):
            x = np.concatenate([y, context])
        for i in range(layers):
            states[i] = step(kind, w, f"decoder.layers.{i}", x, states[i])
            x = states[i][0]
        if attention in ("dot", "general"):
            context = look(states[-1][0])
        proposed = w["decoder.readout.weight"] @ np.concatenate([states[-1][0], y, context])
        proposed = proposed + w["decoder.readout.bias"]
        chosen = np.array([max(proposed[2 * k], proposed[2 * k + 1]) for k in range(D_MODEL)])
        logits.append(w["output.weight"] @ chosen)
    return np.array(logits), np.array(alignment)


def test_every_logit_and_every_weight_follow_from_the_equations(recurrent_variant, random_model, sentences):
    model = random_model(**recurrent_variant).double()
    w = {name: value.numpy() for name, value in model.state_dict().items()}
    kind, attention = recurrent_variant["architecture"], recurrent_variant["attention"]
    trace = Trace()
    with torch.no_grad():
        logits = sentences.padded(model, trace).numpy()
    for row in range(5):
        source_len = int(sentences.source_lengths[row])
        target_len = int(sentences.target_lengths[row])
        source = sentences.source[row, :source_len].tolist()
        target = sentences.target[row, :target_len].tolist()
        memory = read(kind, w, source, model.config.num_encoder_layers)
        np.testing.assert_allclose(trace["memory"][row, :source_len], memory, atol=1e-12)
        expected, alignment = write(kind, attention, w, memory, target, 2)
        np.testing.assert_allclose(logits[row, :target_len], expected, atol=1e-10)
        if attention == "none":
            assert "decoder.attention.weights" not in trace
        else:
            weights = trace["decoder.attention.weights"][row, 0, :target_len]
            np.testing.assert_allclose(weights[:, :source_len], alignment, atol=1e-12)
            assert not weights[:, source_len:].any()


@pytest.mark.parametrize(("kind", "attention"), [("gru", "additive"), ("lstm", "dot")])
def test_gradients_are_the_slopes_of_the_function(kind, attention, random_model, sentences):
    """The hand-written gradient of additive attention among them, by finite differences in double precision."""
    model = random_model(architecture=kind, attention=attention, position="none").double()
    few = sentences.rows(0, 3)

    def value() -> torch.Tensor:
        return few.real(model).tanh().sum()

    value().backward()
    generator = torch.Generator().manual_seed(5)
    for name, weight in model.named_parameters():
        direction = torch.randn(weight.shape, generator=generator, dtype=weight.dtype)
        expected = float((weight.grad * direction).sum())
        with torch.no_grad():
            weight += 1e-6 * direction
            above = float(value())
            weight -= 2e-6 * direction
            below = float(value())
            weight += 1e-6 * direction
        assert (above - below) / 2e-6 == pytest.approx(expected, rel=1e-4, abs=1e-5), name
