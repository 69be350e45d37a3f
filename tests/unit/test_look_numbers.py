"""Every number that is shown follows from others: each is computed again, in double precision, from its operands."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from look_fixtures import make_session, make_subject

from regard.config import ModelConfig
from regard.folder.catalogue import BUNDLED
from regard.look.document import document
from regard.look.session import Session
from regard.look.subject import Subject
from regard.model.transformer import DecoderOnly
from regard.translate.trace import trace_pair

SOURCE, TARGET = [5, 9, 7, 22, 4, 11, 3], [8, 6, 13, 21]


class Recomputed:
    """From a trace and the weights, every value again by the formula of its box; NumPy alone."""

    def __init__(self, trace, model) -> None:
        self.trace, self.config = trace, model.config
        self.weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
        self.values: dict[str, np.ndarray] = {}
        pre = self.config.norm_placement == "pre"
        self.end = "residual" if pre else "norm"
        hidden = None
        if self.config.has_encoder:
            self.words("source")
            hidden = self.stack("encoder", "source", self.config.num_encoder_layers)
            self.values["memory"] = hidden
        if self.config.has_decoder:
            self.words("target")
            hidden = self.stack("decoder", "target", self.config.num_decoder_layers)
        self.values["logits"] = hidden @ self.weights["output.weight"].T
        if self.config.output_bias:
            self.values["logits"] += self.weights["output.bias"]
        self.values["probabilities"] = softmax(self.known("logits"))

    def known(self, name: str) -> np.ndarray:
        return self.trace[name].astype(np.float64)

    def words(self, side: str) -> None:
        tokens = self.trace[f"{side}.tokens"]
        d_model, kind = self.config.d_model, self.config.position
        table = self.weights[f"{side}.embedding.weight"]
        self.values[f"{side}.embedding"] = table[tokens] * np.sqrt(d_model if self.config.scaled_embedding else 1)
        total = self.known(f"{side}.embedding")
        places = np.arange(len(tokens))[:, None]
        if kind == "sinusoidal":
            pairs = np.arange(d_model) // 2 * 2
            angle = places / 10000 ** (pairs / d_model)
            even = np.arange(d_model) % 2 == 0
            self.values[f"{side}.position"] = np.where(even, np.sin(angle), np.cos(angle))
        elif kind == "learned":
            self.values[f"{side}.position"] = self.weights[f"{side}.position.weight"][places[:, 0]]
        elif kind in ("integer", "scaled"):
            whole = len(tokens) if side == "source" else self.config.max_positions
            step = 1 if kind == "integer" else 1 / (whole - 1)
            self.values[f"{side}.position"] = places * step * np.ones(d_model)
        if f"{side}.position" in self.values:
            total = total + self.known(f"{side}.position")
        if self.config.embedding_norm:
            self.values[f"{side}.norm"] = self.normalized(total, f"{side}.norm")
            total = self.known(f"{side}.norm")
        self.values[f"{side}.input"] = total

    def stack(self, stack: str, side: str, num_layers: int) -> np.ndarray:
        x = self.known(f"{side}.input")
        if self.config.position == "alibi":
            apart = np.abs(np.subtract.outer(np.arange(len(x)), np.arange(len(x))))
            # Of three heads: the two of two, then the first of four.
            self.values[f"{stack}.position_bias"] = -apart * np.array([1 / 16, 1 / 256, 1 / 4])[:, None, None]
        if self.config.position == "relative":
            self.values[f"{stack}.position_bias"] = self.relative(stack, len(x))
        for layer in (f"{stack}.layers.{i}" for i in range(num_layers)):
            x = self.attention(f"{layer}.self_attention", x, None)
            if stack == "decoder" and self.config.has_encoder:
                x = self.attention(f"{layer}.cross_attention", x, self.known("memory"))
            x = self.feed_forward(f"{layer}.feed_forward", x)
        if self.config.norm_placement == "pre":
            self.values[f"{stack}.final_norm"] = self.normalized(x, f"{stack}.final_norm")
            x = self.known(f"{stack}.final_norm")
        return x

    def relative(self, stack: str, length: int) -> np.ndarray:
        """Pair by pair: near ones by their distance, farther ones by its logarithm, the farthest all alike."""
        table, farthest = self.weights[f"{stack}.position_bias.weight"], self.config.max_distance
        bias = np.zeros((self.config.num_heads, length, length))
        for query, key in np.ndindex(length, length):
            distance, first, count = query - key, 0, self.config.num_buckets
            if stack == "encoder":
                count //= 2
                first = count if distance < 0 else 0
                distance = abs(distance)
            distance, near = max(distance, 0), count // 2
            if distance >= near:
                share = np.log(distance / near) / np.log(farthest / near)
                distance = min(near + int(share * (count - near)), count - 1)
            bias[:, query, key] = table[first + distance]
        return bias

    def attention(self, path: str, x: np.ndarray, memory: np.ndarray | None) -> np.ndarray:
        reads = self.before(path, x)
        for name in ("query", "key", "value"):
            words = reads if name == "query" or memory is None else memory
            flat = self.linear(words, f"{path}.{name}")
            heads = flat.reshape(len(words), -1, self.config.head_dim).transpose(1, 0, 2)
            if self.config.query_key_norm and name != "value":
                heads = self.normalized(heads, f"{path}.{name}_norm")
            if self.config.position == "rotary" and memory is None and name != "value":
                heads = turned(heads, self.config)
            self.values[f"{path}.{name}"] = heads
        query, key, value = (self.known(f"{path}.{name}") for name in ("query", "key", "value"))
        key, value = (np.repeat(each, len(query) // len(each), axis=0) for each in (key, value))
        self.values[f"{path}.scores"] = np.einsum("hqd,hkd->hqk", query, key)
        self.values[f"{path}.scaled"] = self.known(f"{path}.scores") / np.sqrt(query.shape[-1])
        masked = self.known(f"{path}.scaled")
        if self.config.position in ("relative", "alibi") and memory is None:
            masked = masked + self.known(f"{path.partition('.')[0]}.position_bias")
        if path.startswith("decoder") and memory is None:
            future = np.triu(np.ones(masked.shape[1:], dtype=bool), 1)
            masked = np.where(future, -np.inf, masked)
            if self.config.window is not None:
                masked = np.where(np.tril(future + 1, -self.config.window), -np.inf, masked)
        self.values[f"{path}.masked"] = masked
        self.values[f"{path}.weights"] = softmax(self.known(f"{path}.masked"))
        context = np.einsum("hqk,hkd->hqd", self.known(f"{path}.weights"), value)
        self.values[f"{path}.context"] = context
        concatenated = np.concatenate(list(self.known(f"{path}.context")), axis=-1)
        self.values[f"{path}.concatenated"] = concatenated
        output = self.linear(self.known(f"{path}.concatenated"), f"{path}.output")
        self.values[f"{path}.output"] = output
        return self.after(path, x)

    def feed_forward(self, path: str, x: np.ndarray) -> np.ndarray:
        reads = self.before(path, x)
        self.values[f"{path}.hidden"] = self.linear(reads, f"{path}.hidden")
        hidden = self.known(f"{path}.hidden")
        kind = self.config.feed_forward
        activated = {
            "relu": lambda: np.maximum(hidden, 0),
            "gelu": lambda: hidden * (1 + erf(hidden / np.sqrt(2))) / 2,
            "gelu-tanh": lambda: hidden * (1 + np.tanh(np.sqrt(2 / np.pi) * (hidden + 0.044715 * hidden**3))) / 2,
            "silu": lambda: hidden / (1 + np.exp(-hidden)),
        }[kind.removeprefix("gated-")]()
        if kind.startswith("gated-"):
            self.values[f"{path}.gate"] = self.linear(reads, f"{path}.gate")
            activated = activated * self.known(f"{path}.gate")
        self.values[f"{path}.activated"] = activated
        self.values[f"{path}.output"] = self.linear(self.known(f"{path}.activated"), f"{path}.output")
        return self.after(path, x)

    def before(self, path: str, x: np.ndarray) -> np.ndarray:
        if self.config.norm_placement == "post":
            return x
        self.values[f"{path}.norm"] = self.normalized(x, f"{path}.norm")
        return self.known(f"{path}.norm")

    def after(self, path: str, x: np.ndarray) -> np.ndarray:
        self.values[f"{path}.residual"] = x + self.known(f"{path}.output")
        if self.config.norm_placement == "post":
            residual = self.known(f"{path}.residual")
            self.values[f"{path}.norm"] = self.normalized(residual, f"{path}.norm")
        return self.known(f"{path}.{self.end}")

    def linear(self, x: np.ndarray, path: str) -> np.ndarray:
        return x @ self.weights[f"{path}.weight"].T + self.weights.get(f"{path}.bias", 0)

    def normalized(self, x: np.ndarray, path: str) -> np.ndarray:
        if self.config.norm == "batch":
            x = x - self.weights[f"{path}.running_mean"]
            variance = self.weights[f"{path}.running_variance"]
        else:
            if self.config.norm == "layer":
                x = x - x.mean(axis=-1, keepdims=True)
            variance = (x**2).mean(axis=-1, keepdims=True)
        x = x / np.sqrt(variance + self.config.norm_epsilon) * self.weights[f"{path}.weight"]
        return x if self.config.norm == "rms" else x + self.weights[f"{path}.bias"]


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def turned(vectors: np.ndarray, config: ModelConfig) -> np.ndarray:
    _, length, size = vectors.shape
    pairs = vectors[..., 0::2] + 1j * vectors[..., 1::2]
    step = config.rotary_base ** (-np.arange(0, size, 2) / size)
    for i, own in enumerate(step):  # Llama 3: pairs that turn seldom in the texts of the first training turn slower
        turns = own * config.rotary_length / (2 * np.pi)
        kept = 0 if turns < 1 else 1 if turns > 4 else (turns - 1) / 3
        step[i] = own * (kept + (1 - kept) / config.rotary_factor)
    angle = np.arange(length)[:, None] * step
    pairs = pairs * np.exp(1j * angle)
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(vectors.shape)


def erf(x: np.ndarray) -> np.ndarray:
    return torch.erf(torch.from_numpy(x)).numpy()


def assert_every_value_follows(trace, model) -> None:
    again = Recomputed(trace, model).values
    given = {"source.tokens", "target.tokens"}
    assert set(again) == {name for name in trace if not name.startswith("steps.")} - given
    for name, expected in again.items():
        seen = np.abs(expected[np.isfinite(expected)])
        np.testing.assert_allclose(trace[name], expected, rtol=1e-4, atol=1e-6 * max(seen.max(), 1), err_msg=name)


def test_every_traced_value_follows_from_its_operands(writing_variant, random_model) -> None:
    model = random_model(**{"num_encoder_layers": 2, **writing_variant})
    source = [] if isinstance(model, DecoderOnly) else SOURCE
    assert_every_value_follows(trace_pair(model, source, TARGET), model)


@pytest.mark.parametrize("folder", sorted(path.parent for path in BUNDLED.glob("*/config.json")))
def test_every_value_of_a_bundled_model_follows(folder) -> None:
    subject = Subject.open(folder)
    # Not sampled: another text in every run would be another test in every run.
    decode = replace(subject.manifest.decode, method="greedy", max_length=32)
    session = Session(subject, "Jane visite l'Afrique en septembre.", decode)
    assert_every_value_follows(session.original.trace, subject.network)


@pytest.fixture(scope="module", params=["encoder-decoder", "decoder-only"])
def session(request) -> Session:
    return make_session(make_subject(architecture=request.param))


def test_words_and_steps_are_those_of_the_trace(session: Session) -> None:
    run, described = session.original, document(session)
    trace = run.trace
    for side in ("source", "target"):
        if described[side] is None:
            assert f"{side}.tokens" not in trace
            continue
        assert described[side]["tokens"] == trace[f"{side}.tokens"].tolist()
        assert len(described[side]["token_strings"]) == len(described[side]["tokens"])
        spans = described[side]["words"]
        covered = [i for first, last in spans for i in range(first, last + 1)]
        assert covered == list(range(len(described[side]["tokens"])))
    described = document(session)
    trace = session.original.trace
    for step, record in enumerate(described["steps"]):
        assert [beam["tokens"] for beam in record["beams"]] == trace[f"steps.{step}.beams"]
        assert [beam["score"] for beam in record["beams"]] == trace[f"steps.{step}.scores"]
        for beam in record["beams"]:
            if step:
                assert described["steps"][step - 1]["beams"][beam["parent"]]["tokens"] == beam["tokens"][:-1]
            else:
                assert beam["parent"] is None
