"""One training step: gradients against finite differences, the chain rule against torch, Adam's update against the optimizer."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from look_fixtures import make_subject

from regard.config import TrainConfig
from regard.look.chain_rule import ChainRule
from regard.look.training_step import TrainingStep, backward, take_step
from regard.trace import Trace
from regard.train.loss import smoothed_cross_entropy
from regard.translate.trace import full_pass

SOURCE, TARGET, SMOOTHING = [301, 17, 230, 3], [44, 270, 301, 25, 9], 0.1
SETTINGS = TrainConfig(label_smoothing=SMOOTHING, weight_decay=0.03, clip=0.5)
VARIANTS: dict[str, dict[str, Any]] = {
    "the paper's": {},
    "pre-norm, RMS, grouped heads": dict(norm_placement="pre", norm="rms", num_heads=6, num_key_value_heads=2),
    "rotary": dict(position="rotary", norm_placement="pre", biases="query-key-value", rotary_base=7.0),
    "gated, learned positions": dict(feed_forward="gated-silu", position="learned", tied="none"),
}
OTHERS: dict[str, dict[str, Any]] = {
    "over the batch": dict(norm="batch"),
    "a table of distances": dict(position="relative"),
    "a norm of embeddings": dict(embedding_norm=True, output_bias=True),
    "norms of queries": dict(architecture="decoder-only", query_key_norm=True, position="rotary"),
}
"""The sheet has no rule for some of their values, and says so."""
SMALL = dict(num_encoder_layers=1, num_decoder_layers=2, d_model=12, d_ff=14, num_heads=2)


def network_of(variant: str) -> Any:
    return make_subject(**{**SMALL, **{**VARIANTS, **OTHERS}[variant]}).network.double()


def moments_of(network: Any) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    rng = np.random.default_rng(4)
    named = {name: each.shape for name, each in network.named_parameters()}
    first = {name: 1e-3 * rng.normal(size=shape) for name, shape in named.items()}
    return first, {name: 1e-3 * rng.random(size=shape) for name, shape in named.items()}


def step_of(network: Any) -> TrainingStep:
    source = SOURCE if network.config.has_encoder else []
    return take_step(network, source, TARGET, SETTINGS, number=37, rate=2e-3, moments=moments_of(network))


def loss_of(network: Any, edits: Any = None) -> float:
    """The mean loss of a forward pass."""
    trace = Trace(edits)
    with torch.no_grad():
        full_pass(network, SOURCE, TARGET, trace)
    log_probabilities = trace["logits"][0].log_softmax(-1)
    correct = torch.tensor([*TARGET, network.config.eos_id])
    right = log_probabilities[torch.arange(len(correct)), correct]
    return float((-(1 - SMOOTHING) * right - SMOOTHING * log_probabilities.mean(-1)).mean())


def sample(step: TrainingStep, count: int = 2) -> list[tuple[str, tuple[int, ...]]]:
    """Some cells of every gradient, the largest first."""
    rng, places = np.random.default_rng(8), []
    for name, gradient in step.gradients.items():
        flat = [int(np.abs(gradient).argmax()), *rng.integers(gradient.size, size=count - 1).tolist()]
        places += [(name, tuple(int(i) for i in np.unravel_index(each, gradient.shape))) for each in flat]
    return places


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_are_finite_differences(variant: str) -> None:
    network = network_of(variant)
    step, tiny = step_of(network), 1e-6
    for name, index in sample(step, count=2 if variant == "the paper's" else 1):
        if name.endswith((".masked", ".hidden")) and step.gradients[name][index] == 0:
            continue  # minus infinity, or on the flat side of a kink
        losses = []
        for sign in (1, -1):
            if name.startswith("param:"):
                weight = network.get_parameter(name.removeprefix("param:")).data
                before = weight[index].clone()
                weight[index] += sign * tiny
                losses.append(loss_of(network))
                weight[index] = before
            else:

                def shift(value: Any, index: Any = (0, *index), sign: int = sign) -> Any:
                    value = value.clone()
                    value[index] += sign * tiny
                    return value

                losses.append(loss_of(network, {name: shift}))
        slope = (losses[0] - losses[1]) / (2 * tiny)
        assert slope == pytest.approx(float(step.gradients[name][index]), rel=1e-4, abs=2e-9), f"{name}{index}"


@pytest.mark.parametrize("variant", [*VARIANTS, *OTHERS])
def test_the_chain_rule_adds_up_to_the_gradient(variant: str) -> None:
    network = network_of(variant)
    step = step_of(network)
    for name, index in sample(step, count=3):
        found = ChainRule(step, network.config).derive(f"grad:{name}", index)
        assert found["formula"] or (variant in OTHERS and not found["terms"] and not found["lines"]), name
        assert found["result"] == pytest.approx(found["traced"], rel=1e-9, abs=1e-15), name
        for term in found["terms"]:
            for operand in term["operands"]:
                place = operand.get("place")
                if place and place["name"].startswith("grad:"):
                    array = step.tensor(place["name"])
                    assert array is not None and array[tuple(place["index"])] == operand["value"]


def test_the_update_is_the_optimizers() -> None:
    """Against torch's Adam, set up here with the same moments."""
    network = network_of("the paper's")
    step = step_of(network)
    first, second = moments_of(network)
    backward(network, SOURCE, TARGET, SMOOTHING)
    torch.nn.utils.clip_grad_norm_(network.parameters(), 0.5)
    assert step.clipping < 1, "the test is meant to clip"
    groups = [
        {"params": [p for p in network.parameters() if (p.dim() > 1) == decays], "weight_decay": 0.03 * decays}
        for decays in (True, False)
    ]
    optimizer = torch.optim.AdamW(groups, lr=2e-3, betas=(0.9, 0.98), eps=1e-9, foreach=False)
    for name, parameter in network.named_parameters():
        moments = {"exp_avg": torch.from_numpy(first[name]), "exp_avg_sq": torch.from_numpy(second[name] ** 2)}
        optimizer.state[parameter] = {"step": torch.tensor(36.0), **moments}
    optimizer.step()
    for name, parameter in network.named_parameters():
        index = tuple(np.unravel_index(int(np.abs(step.gradients["param:" + name]).argmax()), parameter.shape))
        found = ChainRule(step, network.config).derive(f"after:{name}", tuple(map(int, index)))
        wanted = parameter[index].item()
        assert found["result"] == pytest.approx(wanted, rel=1e-7, abs=1e-15)
        assert found["traced"] == pytest.approx(wanted, rel=1e-7, abs=1e-15)


def test_losses_and_probabilities_are_the_trainers() -> None:
    subject = make_subject(**SMALL)
    network = subject.network
    step = take_step(network, SOURCE, TARGET, SETTINGS, number=1, rate=1e-3)
    described = step.describe(subject)
    logits = torch.from_numpy(step.trace["logits"])
    sums = smoothed_cross_entropy(logits, torch.tensor(step.correct), network.config.pad_id, SMOOTHING)
    assert described["loss"] == pytest.approx(float(sums.loss) / len(step.correct), rel=1e-6)
    for place in described["positions"]:
        wanted = -(1 - SMOOTHING) * place["log"] - SMOOTHING * place["mean"]
        assert place["loss"] == pytest.approx(wanted, rel=1e-5)
    gains = [np.log(place["after"] / place["probability"]) for place in described["positions"]]
    assert np.mean(gains) > 0, "a small step makes the reference more probable"
    assert [place["correct"] for place in described["positions"][:-1]] == subject.target.token_strings(TARGET)


def test_a_step_of_muon_is_not_told_as_adams() -> None:
    network = network_of("the paper's")
    step = take_step(network, SOURCE, TARGET, replace(SETTINGS, optimizer="muon"), number=1, rate=1e-3)
    for name, is_adams in (("decoder.layers.0.cross_attention.key.weight", False), ("source.embedding.weight", True)):
        found = ChainRule(step, network.config).derive(f"after:{name}", (3, 5))
        assert found["result"] == pytest.approx(found["traced"], rel=1e-7, abs=1e-15)
        assert bool(found["formula"]) == is_adams == ("Muon" not in found["sentence"])
