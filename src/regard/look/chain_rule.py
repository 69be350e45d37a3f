"""Where a gradient comes from: the chain rule with the numbers of one step, added up again in double precision.

A value is used by one or several others: its gradient is the sum, over these uses, of their gradients times how much they
change with it. The same for a weight, which is used at every position. At the end: Adam's update of one weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.errors import UsageError
from regard.folder.tensors import tied_names
from regard.look.training_step import AFTER, GRADIENT, WEIGHT, TrainingStep

MOST_TERMS = 24
"""Terms of a sum that are shown, the largest; of more the rest is one line."""
Index = tuple[int, ...]
Derivation = dict[str, Any]


class ChainRule:
    """The arithmetic of one number of a step; one object for each."""

    def __init__(self, step: TrainingStep, config: ModelConfig) -> None:
        self.step, self.config = step, config
        self.is_pre = config.norm_placement == "pre"
        self.terms: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.columns: list[str] = []
        self.result = 0.0
        self.formula, self.sentence = "", "Its arithmetic is not taken apart."

    def derive(self, name: str, index: Index) -> Derivation:
        """The derivation of a gradient or of an updated weight, in the form that the page shows."""
        array = self.step.tensor(name)
        if (
            array is None
            or len(index) != array.ndim
            or any(not 0 <= i < n for i, n in zip(index, array.shape, strict=True))
        ):
            raise UsageError(f"a number must be one of a gradient's: got {name!r} at {list(index)}; choose another")
        traced, inner = float(array[index]), name.split(":", 1)[1]
        if name.startswith(AFTER):
            self._update(inner, index)
        elif inner.startswith(WEIGHT):
            self._weight(inner.removeprefix(WEIGHT), index)
        else:
            self._value(inner, index)
        self.terms.sort(key=lambda term: -abs(term["result"]))
        if rest := self.terms[MOST_TERMS:]:
            self._line(f"the other {len(rest)} terms together", sum(term["result"] for term in rest))
        return {
            "place": {"name": name, "index": list(index)},
            "traced": traced,
            "sentence": self.sentence,
            "formula": self.formula,
            "columns": self.columns,
            "terms": self.terms[:MOST_TERMS],
            "lines": self.lines,
            "result": self.result if self.formula else traced,
        }

    def _value(self, name: str, index: Index) -> None:
        path, _, last = name.rpartition(".")
        if name == "logits":
            return self._logit(index)
        square = {"weights": self._weights, "masked": self._masked, "scaled": self._scaled, "scores": self._scores}
        if last in square and path:
            return square[last](path, index)
        if last in ("query", "key", "value"):
            return self._projected(path, last, index)
        if last in ("context", "hidden", "gate"):
            return self._inside(path, last, index)
        if last in (
            "output",
            "concatenated",
            "activated",
            "residual",
            "norm",
            "final_norm",
            "input",
            "embedding",
            "memory",
        ):
            self._explain("Through everything that reads it.", "gradient = Σ gradient of a reader × its weight")
            for kind, reader, *weight in self._uses(name):
                if kind == "same":
                    self._same(reader, index)
                elif kind == "norm":
                    self._through_norm(name, reader, *index)
                else:
                    self._through_linear(reader, weight[0], *index)
        return None

    def _logit(self, index: Index) -> None:
        position, token = index
        logits = self._values("logits")[position]
        probability = math.exp(logits[token] - logits.max()) / np.exp(logits - logits.max()).sum()
        smoothing, vocab_size, count = self.step.smoothing, len(logits), len(self.step.correct)
        wanted = smoothing / vocab_size + (1 - smoothing) * (token == self.step.correct[position])
        self._explain(
            "Softmax and loss together: what the model said, less what it should have said.", "(p − q) / positions"
        )
        self._line("p, the model's probability", probability, "probabilities", index)
        self._line("q, what was wanted" + (" (label smoothing)" if smoothing else ""), wanted)
        self._line("positions", count)
        self.result = (probability - wanted) / count

    def _weights(self, path: str, index: Index) -> None:
        head, query, key = index
        shared, size = self._shared(head), self._values(f"{path}.value").shape[2]
        self._explain("The context is a sum of values, each times its weight.", "Σ gradient of the context × value")
        for j in range(size):
            self._product(str(j), (f"{path}.context", (head, query, j)), (f"{path}.value", (shared, key, j)))

    def _masked(self, path: str, index: Index) -> None:
        head, query, key = index
        weights = self._values(f"{path}.weights")[head, query]
        self._explain("Through the softmax: all weights of a row share one sum.", "weight × (g − Σ g × weight)")
        for j in range(len(weights)):
            self._product(str(j), (f"{path}.weights", (head, query, j)), (f"{path}.weights", (head, query, j)))
        own = self._line(
            "g, gradient of this weight", self._gradient(f"{path}.weights", index), GRADIENT + f"{path}.weights", index
        )
        self.result = self._line("its weight", float(weights[key]), f"{path}.weights", index) * (own - self.result)

    def _scaled(self, path: str, index: Index) -> None:
        self._explain(
            "A mask adds 0 or −∞ and a bias adds a constant: the gradient passes where the word is seen.", "the same"
        )
        self._same(f"{path}.masked", index)

    def _scores(self, path: str, index: Index) -> None:
        self._explain("Scores are divided by √d_k, and so are their gradients.", "gradient of scaled / √d_k")
        self._same(f"{path}.scaled", index)
        self.result /= self._line("divided by √d_k", math.sqrt(self._values(f"{path}.query").shape[2]))

    def _projected(self, path: str, last: str, index: Index) -> None:
        head, position, feature = index
        self._explain(
            f"Through every product that this {last} is part of.", "Σ gradient of the product × the other factor"
        )
        if last == "query":
            for j in range(self._values(f"{path}.scores").shape[2]):
                other = (f"{path}.key", (self._shared(head), j, feature))
                self._product(str(j), (f"{path}.scores", (head, position, j)), other)
            return
        group = self.config.num_heads // self.config.num_key_heads
        for own in range(head * group, (head + 1) * group):
            for i in range(self._values(f"{path}.weights").shape[1]):
                if last == "key":
                    factors = (f"{path}.scores", (own, i, position)), (f"{path}.query", (own, i, feature))
                else:
                    factors = (f"{path}.context", (own, i, feature)), (f"{path}.weights", (own, i, position))
                self._product(f"head {own + 1}, {i}", *factors)

    def _inside(self, path: str, last: str, index: Index) -> None:
        if last == "context":
            head, position, feature = index
            self._explain("The heads are concatenated; the number is the same.", "the same")
            self._same(f"{path}.concatenated", (position, head * self._values(f"{path}.context").shape[2] + feature))
        elif self.config.feed_forward == "relu" and path.endswith("feed_forward"):
            self._explain("max(0, x) lets the gradient pass where x is positive.", "gradient of activated, or 0")
            hidden = self._line("hidden", float(self._values(f"{path}.hidden")[index]), f"{path}.hidden", index)
            self._same(f"{path}.activated", index)
            self.result *= hidden > 0

    def _uses(self, name: str) -> list[tuple[str, ...]]:
        """What reads a value: the same number elsewhere, a norm, or a linear map with its weight."""
        path, _, last = name.rpartition(".")
        parts = self._parts(path.split(".")[0])
        if name == "memory":
            crosses = [part for part in self._parts("decoder") if part.endswith("cross_attention")]
            return [
                ("linear", f"{part}.{kind}", f"{part}.{kind}.weight") for part in crosses for kind in ("key", "value")
            ]
        if last == "embedding":
            return [("same", f"{path}.input")] if not self.config.embedding_norm else []
        if last == "input":
            return self._stream(self._parts("encoder" if path == "source" else "decoder"), 0)
        if last == "final_norm":
            return self._end(path)
        if last in ("concatenated", "activated"):
            return [("linear", f"{path}.output", f"{path}.output.weight")]
        if last == "output":
            return [("same", f"{path}.residual")]
        if path not in parts:
            return []
        if last == "residual":
            return self._stream(parts, parts.index(path) + 1) if self.is_pre else [("norm", f"{path}.norm")]
        return self._readers(path) if self.is_pre else self._stream(parts, parts.index(path) + 1)

    def _stream(self, parts: Sequence[str], place: int) -> list[tuple[str, ...]]:
        """What reads the residual stream where it enters a sub-layer, or leaves the last."""
        if place < len(parts):
            reads = [("norm", f"{parts[place]}.norm")] if self.is_pre else self._readers(parts[place])
            return [*reads, ("same", f"{parts[place]}.residual")]
        stack = parts[0].split(".")[0]
        return [("norm", f"{stack}.final_norm")] if self.is_pre else self._end(stack)

    def _end(self, stack: str) -> list[tuple[str, ...]]:
        is_last = stack == "decoder" or not self.config.has_decoder
        return [("linear", "logits", "output.weight")] if is_last else [("same", "memory")]

    def _readers(self, part: str) -> list[tuple[str, ...]]:
        kinds = ["hidden", *["gate"] * self.config.is_gated]
        if not part.endswith("feed_forward"):
            kinds = ["query"] if part.endswith("cross_attention") else ["query", "key", "value"]
        return [("linear", f"{part}.{kind}", f"{part}.{kind}.weight") for kind in kinds]

    def _parts(self, stack: str) -> list[str]:
        """The sub-layers of a stack, in their order."""
        cross = ["cross_attention"] * (stack == "decoder" and self.config.has_encoder)
        kinds = ["self_attention", *cross, "feed_forward"]
        num_layers = self.config.num_layers[-1 if stack == "decoder" else 0]
        return [f"{stack}.layers.{i}.{kind}" for i in range(num_layers) for kind in kinds]

    def _through_linear(self, reader: str, weight: str, position: int, feature: int) -> None:
        if self.config.position == "rotary" and reader.endswith(("self_attention.query", "self_attention.key")):
            raise UsageError("gradients through a rotation are not taken apart; open that of the value instead")
        array = self._values(reader)
        for j in range(math.prod(array.shape) // array.shape[-2]):
            index = (position, j) if array.ndim == 2 else (j // array.shape[2], position, j % array.shape[2])
            self._product(
                f"{reader.rpartition('.')[2]} {j}", (reader, index), (WEIGHT + self._first(weight), (j, feature))
            )

    def _through_norm(self, name: str, norm: str, position: int, feature: int) -> None:
        """g' = (γg − mean(γg) − x̂ mean(γg x̂)) / σ; without the mean in RMSNorm."""
        normal, spread = self._normalised(name)
        gain = self.step.weights[f"{norm}.weight"].astype(np.float64)
        scaled = gain * self._gradients(norm)[position]
        along = self._line("mean of γ × g × x̂ of this position", float((scaled * normal[position]).mean()))
        mean = 0.0
        if self.config.norm != "rms":
            mean = self._line("mean of γ × g", float(scaled.mean()))
        own = self._line(
            "g, gradient after the norm",
            self._gradient(norm, (position, feature)),
            GRADIENT + norm,
            (position, feature),
        )
        place = self._line("x̂, the normalised number", float(normal[position, feature]))
        sigma = self._line("σ of this position", float(spread[position]))
        gained = own * self._line("γ, the gain", float(gain[feature]), f"{WEIGHT}{norm}.weight", (feature,))
        self.result += self._line(
            "through the norm: (γg − mean − x̂ × mean) / σ", (gained - mean - place * along) / sigma
        )

    def _normalised(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        x = self._values(name)
        centred = x if self.config.norm == "rms" else x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1) + self.config.norm_epsilon)
        return centred / spread[:, None], spread

    def _weight(self, name: str, index: Index) -> None:
        """The gradient of a weight: the sum over all positions where it is used."""
        part, _, kind = name.rpartition(".")
        path, _, last = part.rpartition(".")
        if last in ("query", "key", "value", "hidden", "gate", "output") and part + "." + kind != "output.weight":
            read = {"output": f"{path}.concatenated", "key": "memory", "value": "memory"}.get(last, "")
            if last == "output" and path.endswith("feed_forward"):
                read = f"{path}.activated"
            elif last != "output" and not (read and path.endswith("cross_attention")):
                read = f"{path}.norm" if self.is_pre else self._into(path)
            self._sum_over_positions(part, read if kind == "weight" else "", index)
        for alias in [name, *(alias for alias, first in tied_names(self.config).items() if first == name)]:
            side = alias.split(".")[0]
            if alias == "output.weight":
                hidden = (
                    self._into("")
                    if not self.is_pre
                    else ("decoder" if self.config.has_decoder else "encoder") + ".final_norm"
                )
                self._sum_over_positions("logits", hidden, index)
            elif alias.endswith("embedding.weight") and f"{side}.tokens" in self.step.trace:
                self._explain("The row of this token, wherever it is used.", "Σ gradient × use")
                scale = math.sqrt(self.config.d_model) if self.config.scaled_embedding else 1.0
                for i in np.flatnonzero(self.step.trace[f"{side}.tokens"] == index[0]).tolist():
                    gradient = self._gradient(f"{side}.embedding", (i, index[1]))
                    place = {"name": f"{GRADIENT}{side}.embedding", "index": [i, index[1]]}
                    self._term(f"{side} position {i}", [{"value": gradient, "place": place}, {"value": scale}])

    def _into(self, part: str) -> str:
        """The residual stream where it enters a sub-layer; without one, where it leaves the last stack (post-norm)."""
        stack = part.split(".")[0] or ("decoder" if self.config.has_decoder else "encoder")
        parts = self._parts(stack)
        place = parts.index(part) if part else len(parts)
        return f"{parts[place - 1]}.norm" if place else ("source.input" if stack == "encoder" else "target.input")

    def _sum_over_positions(self, output: str, read: str, index: Index) -> None:
        self._explain(
            "The same weight is used at every position: its gradient is the sum.", "Σ gradient of the output × input"
        )
        array = self._values(output)
        for i in range(array.shape[-2]):
            row = index[0]
            place = (i, row) if array.ndim == 2 else (row // array.shape[2], i, row % array.shape[2])
            if read:
                self._product(f"position {i}", (output, place), (read, (i, index[1])))
            else:
                operand = {
                    "value": self._gradient(output, place),
                    "place": {"name": GRADIENT + output, "index": list(place)},
                }
                self._term(f"position {i}", [operand, {"value": 1.0}])

    def _update(self, name: str, index: Index) -> None:
        """Adam: Kingma and Ba 2015, algorithm 1, with the decoupled decay of Loshchilov and Hutter 2019."""
        step, settings = self.step, self.step.settings
        if settings.optimizer == "muon" and step.weights[name].ndim == 2 and ".layers." in name:
            self.sentence = "Muon's update is the whole matrix made orthogonal; it is not taken apart."
            return
        gradient = float(step.gradients[WEIGHT + name][index])
        first, second = (float(each[name][index]) if name in each else 0.0 for each in step.moments)
        self._explain("Adam's update of this weight.", "w − rate × m̂ / (√v̂ + ε)")
        before = self._line("w, the weight before", float(step.weights[name][index]), WEIGHT + name, index)
        self._line("its gradient", gradient, GRADIENT + WEIGHT + name, index)
        g = self._line(f"g, clipped (× {step.clipping:.4g})", gradient * step.clipping)
        m = self._line(
            f"m = {settings.beta1} × {first:.4g} + {1 - settings.beta1:.4g} × g",
            settings.beta1 * first + (1 - settings.beta1) * g,
        )
        v = self._line(
            f"v = {settings.beta2} × {second**2:.4g} + {1 - settings.beta2:.4g} × g²",
            settings.beta2 * second**2 + (1 - settings.beta2) * g * g,
        )
        m = self._line(f"m̂ = m / (1 − {settings.beta1}^{step.number})", m / (1 - settings.beta1**step.number))
        v = self._line(f"v̂ = v / (1 − {settings.beta2}^{step.number})", v / (1 - settings.beta2**step.number))
        rate = self._line("rate", step.rate)
        decay = rate * settings.weight_decay * before if step.weights[name].ndim > 1 else 0.0
        if decay:
            self._line("decay, rate × weight_decay × w", decay)
        change = self._line(f"rate × m̂ / (√v̂ + {settings.epsilon:g})", rate * m / (math.sqrt(v) + settings.epsilon))
        self.result = before - decay - change

    def _explain(self, sentence: str, formula: str) -> None:
        self.sentence, self.formula = sentence, formula

    def _product(self, label: str, gradient: tuple[str, Index], factor: tuple[str, Index]) -> None:
        """A term: the gradient of one value times another value or a weight."""
        name, index = factor
        source = self.step.weights[name.removeprefix(WEIGHT)] if name.startswith(WEIGHT) else self.step.trace[name]
        operands = [
            {"value": self._gradient(*gradient), "place": {"name": GRADIENT + gradient[0], "index": list(gradient[1])}},
            {"value": float(source[index]), "place": {"name": name, "index": list(index)}},
        ]
        self._term(label, operands)

    def _term(self, label: str, operands: list[dict[str, Any]]) -> None:
        product = math.prod(operand["value"] for operand in operands)
        self.columns = ["from", "gradient", "times", "product"]
        self.terms.append({"label": label, "operands": operands, "result": product})
        self.result += product

    def _same(self, name: str, index: Index) -> None:
        label = f"gradient of {name.rpartition('.')[2]}"
        self.result += self._line(label, self._gradient(name, index), GRADIENT + name, index)

    def _line(self, text: str, value: float, name: str = "", index: Index = ()) -> float:
        place = {"place": {"name": name, "index": list(index)}} if name and not name.startswith(WEIGHT) else {}
        self.lines.append({"text": text, "value": value, **place})
        return value

    def _values(self, name: str) -> np.ndarray:
        array: np.ndarray = self.step.trace[name].astype(np.float64)
        return array

    def _gradients(self, name: str) -> np.ndarray:
        return self.step.gradients[name].astype(np.float64)

    def _gradient(self, name: str, index: Index) -> float:
        return float(self.step.gradients[name][index])

    def _first(self, weight: str) -> str:
        return tied_names(self.config).get(weight, weight)

    def _shared(self, head: int) -> int:
        """The head of keys and values that a head of queries reads."""
        return head // (self.config.num_heads // self.config.num_key_heads)
