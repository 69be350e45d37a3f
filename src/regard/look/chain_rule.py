"""Where a gradient comes from: the chain rule with the numbers of one step, added up again in double precision.

A value is used by one or several others: its gradient is the sum, over these uses, of their gradients times how much they
change with it. The same for a weight, which is used at every position. At the end: Adam's update of one weight.
"""

import math
from typing import Any

import numpy as np
import torch

from regard.errors import UsageError
from regard.folder.tensors import tied_names
from regard.look.derivation import DerivationSheet, Index, sub_layers
from regard.look.training_step import AFTER, GRADIENT, WEIGHT
from regard.model.feedforward import ACTIVATIONS
from regard.train.optimizer import is_orthogonal

MAX_TERMS = 24  # Terms of a sum that are shown, the largest; of more the rest is one line.
Derivation = dict[str, Any]
_READ = frozenset(
    "output concatenated activated residual norm final_norm input embedding position position_bias memory".split()
)
"""values whose readers `DataFlow` knows"""


class NotTakenApart(Exception):
    """Why the arithmetic of a number is not written down."""


class ChainRule(DerivationSheet):
    """The derivation of a gradient, or of an updated weight."""

    def derive(self, name: str, index: Index) -> Derivation:
        """The derivation in the form that the page shows."""
        array = self.step.tensor(name)
        if array is None or len(index) != array.ndim or any(i >= n for i, n in zip(index, array.shape, strict=True)):
            raise UsageError(f"a number must be one of a gradient's: got {name!r} at {list(index)}; choose another")
        traced, inner = float(array[index]), name.split(":", 1)[1]
        try:
            self._write_down(name, inner, index)
        except NotTakenApart as reason:
            self.terms, self.lines, self.columns, self.formula, self.sentence = [], [], [], "", str(reason)
        self.terms.sort(key=lambda term: -abs(term["result"]))
        if rest := self.terms[MAX_TERMS:]:
            self._line(f"the other {len(rest)} terms together", sum(term["result"] for term in rest))
        return {
            "place": {"name": name, "index": list(index)},
            "traced": traced,
            "sentence": self.sentence,
            "formula": self.formula,
            "columns": self.columns,
            "terms": self.terms[:MAX_TERMS],
            "lines": self.lines,
            "result": self.result if self.formula else traced,
        }

    def _write_down(self, name: str, inner: str, index: Index) -> None:
        if name.startswith(AFTER):
            self._update(inner, index)
        elif self.config.is_recurrent and inner != "logits":
            raise NotTakenApart("Gradients of recurrent models are shown, and not taken apart.")
        elif inner.startswith(WEIGHT):
            self._weight(inner.removeprefix(WEIGHT), index)
        else:
            self._value(inner, index)

    def _value(self, name: str, index: Index) -> None:
        path, _, last = name.rpartition(".")
        if name == "logits":
            return self._logit(index)
        rules = {"weights": self._weights, "masked": self._masked, "scaled": self._scaled, "scores": self._scores}
        rules["context"] = self._context
        if last in rules:
            return rules[last](path, index)
        if last in ("query", "key", "value"):
            return self._projected(path, last, index)
        if last in ("hidden", "gate") and path.endswith("feed_forward"):
            return self._activated(path, last, index)
        if last in _READ:
            self._explain("Through everything that reads it.", "gradient = Σ gradient of a reader × its weight")
            readers = self.flow.readers(name)
            if not readers:
                raise NotTakenApart("Gradients through the norm of an embedding are shown, and not taken apart.")
            for kind, reader in readers:
                if kind == "same":
                    self._same(reader, index)
                elif kind == "norm":
                    self._through_norm(name, reader, *index)
                else:
                    self._through_linear(reader, *index)
        return None

    def _logit(self, index: Index) -> None:
        position, token = index
        logits = self._values("logits")[position]
        probability = math.exp(logits[token] - logits.max()) / np.exp(logits - logits.max()).sum()
        smoothing, vocab_size, count = self.step.smoothing, len(logits), len(self.step.correct)
        wanted = smoothing / vocab_size + (1 - smoothing) * (token == self.step.correct[position])
        self._explain("Softmax and loss together: what the model said, less what was wanted.", "(p − q) / positions")
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
        (head, query, key), name = index, f"{path}.weights"
        weights = self._values(name)[head, query]
        self._explain("Through the softmax: all weights of a row share one sum.", "weight × (g − Σ g × weight)")
        for j in range(len(weights)):
            self._product(str(j), (name, (head, query, j)), (name, (head, query, j)))
        own = self._line("g, gradient of this weight", self._gradient(name, index), GRADIENT + name, index)
        self.result = self._line("its weight", float(weights[key]), name, index) * (own - self.result)

    def _scaled(self, path: str, index: Index) -> None:
        self._explain("The mask adds 0 where the word is seen, and a bias adds a constant.", "the same")
        self._same(f"{path}.masked", index)

    def _scores(self, path: str, index: Index) -> None:
        self._explain("Scores are divided by √d_k, and so are their gradients.", "gradient of scaled / √d_k")
        self._same(f"{path}.scaled", index)
        self.result /= self._line("divided by √d_k", math.sqrt(self._values(f"{path}.query").shape[2]))

    def _projected(self, path: str, last: str, index: Index) -> None:
        head, position, feature = index
        self._explain(f"Through every product that this {last} is part of.", "Σ gradient of the product × other factor")
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

    def _context(self, path: str, index: Index) -> None:
        head, position, feature = index
        self._explain("The heads are concatenated; the number is the same.", "the same")
        self._same(f"{path}.concatenated", (position, head * self._values(f"{path}.context").shape[2] + feature))

    def _activated(self, path: str, last: str, index: Index) -> None:
        kind, name = self.config.feed_forward.removeprefix("gated-"), f"{path}.hidden"
        hidden = torch.tensor(self._values(name)[index], requires_grad=True)
        with torch.enable_grad():
            activated = ACTIVATIONS[kind](hidden)
        [slope] = torch.autograd.grad(activated, hidden)
        self._same(f"{path}.activated", index)
        self._line("hidden", hidden.item(), name, index)
        if last == "gate":
            self._explain("The gate is multiplied with the activation.", f"gradient of activated × {kind}(hidden)")
            self.result *= self._line(f"{kind} of hidden", activated.item())
            return
        times_gate = " × gate" * self.config.is_gated
        self._explain(f"Through {kind}, as far as it slopes there.", f"gradient of activated × slope{times_gate}")
        self.result *= self._line(f"slope of {kind} there", slope.item())
        if times_gate:
            gate = f"{path}.gate"
            self.result *= self._line("gate", float(self._values(gate)[index]), gate, index)

    def _through_linear(self, reader: str, position: int, feature: int) -> None:
        self._check_passes(reader)
        array, last = self._values(reader), reader.rpartition(".")[2]
        weight = "output.weight" if reader == "logits" else f"{reader}.weight"
        weight = WEIGHT + tied_names(self.config).get(weight, weight)
        for j in range(math.prod(array.shape) // array.shape[-2]):
            index = (position, j) if array.ndim == 2 else (j // array.shape[2], position, j % array.shape[2])
            self._product(f"{last} {j}", (reader, index), (weight, (j, feature)))

    def _check_passes(self, projected: str) -> None:
        """The traced query and key come after their norm."""
        if self.config.query_key_norm and projected.endswith((".query", ".key")):
            raise NotTakenApart("Gradients through a norm of queries and keys are shown, and not taken apart.")

    def _through_norm(self, name: str, norm: str, position: int, feature: int) -> None:
        """g' = (γg − mean(γg) − x̂ mean(γg x̂)) / σ; without the mean in RMSNorm."""
        self._check_norm()
        (normal, spread), index = self._normalised(name), (position, feature)
        gain = self.step.weights[f"{norm}.weight"].astype(np.float64)
        scaled = gain * self.step.gradients[norm][position].astype(np.float64)
        along = self._line("mean of γ × g × x̂ of this position", float((scaled * normal[position]).mean()))
        mean = 0.0
        if self.config.norm != "rms":
            mean = self._line("mean of γ × g", float(scaled.mean()))
        own = self._line("g, gradient after the norm", self._gradient(norm, index), GRADIENT + norm, index)
        place = self._line("x̂, the normalised number", float(normal[index]))
        sigma = self._line("σ of this position", float(spread[position]))
        gained = own * self._line("γ, the gain", float(gain[feature]), f"{WEIGHT}{norm}.weight", (feature,))
        passed = (gained - mean - place * along) / sigma
        self.result += self._line("through the norm: (γg − mean − x̂ × mean) / σ", passed)

    def _normalised(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        x = self._values(name)
        centred = x if self.config.norm == "rms" else x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=-1) + self.config.norm_epsilon)
        return centred / spread[:, None], spread

    def _weight(self, name: str, index: Index) -> None:
        """The gradient of a weight: the sum over all positions where it is used."""
        part, _, kind = name.rpartition(".")
        path, _, last = part.rpartition(".")
        if name == "output.bias":
            self._sum_over_positions("logits", "", index)
        elif last == "final_norm" or (last == "norm" and path in sub_layers(self.config, path.split(".")[0])):
            self._gain(path, part, kind, index)
        elif path and last in ("query", "key", "value", "hidden", "gate", "output"):
            self._check_passes(part)
            self._sum_over_positions(part, self.flow.input_of(part) if kind == "weight" else "", index)
        for alias in [name, *(alias for alias, first in tied_names(self.config).items() if first == name)]:
            side = alias.split(".")[0]
            if alias == "output.weight":
                last_stack = "decoder" if self.config.has_decoder else "encoder"
                hidden = f"{last_stack}.final_norm" if self.is_pre else self.flow.into("")
                self._sum_over_positions("logits", hidden, index)
            elif alias.endswith("embedding.weight") and f"{side}.tokens" in self.step.trace:
                self._explain("The row of this token, wherever it is used.", "Σ gradient × use")
                scale = math.sqrt(self.config.d_model) if self.config.scaled_embedding else 1.0
                for i in np.flatnonzero(self.step.trace[f"{side}.tokens"] == index[0]).tolist():
                    operand = self._operand(f"{GRADIENT}{side}.embedding", (i, index[1]))
                    self._term(f"{side} position {i}", [operand, {"value": scale}])
            elif alias == f"{side}.position.weight":
                self._explain("Each position adds its own row to the embedding there.", "Σ gradient of the position")
                for i in range(len(self.step.trace[f"{side}.tokens"])):
                    if min(i, self.config.max_positions - 1) == index[0]:
                        self._same(f"{side}.position", (i, index[1]))

    def _gain(self, path: str, norm: str, kind: str, index: Index) -> None:
        self._check_norm()
        self._explain("The norm is taken at every position: the sum of all.", "Σ gradient after the norm × x̂")
        normal, _ = self._normalised(self.flow.into(path) if self.is_pre else f"{path}.residual")
        for i, row in enumerate(normal):
            other = {"value": float(row[index]) if kind == "weight" else 1.0}
            self._term(f"position {i}", [self._operand(GRADIENT + norm, (i, *index)), other])

    def _check_norm(self) -> None:
        if self.config.norm == "batch":
            raise NotTakenApart("Gradients through a norm over the batch are shown, and not taken apart.")

    def _sum_over_positions(self, output: str, read: str, index: Index) -> None:
        self._explain("A weight is used at every position: the sum of all.", "Σ gradient of the output × input")
        array, row = self._values(output), index[0]
        for i in range(array.shape[-2]):
            place = (i, row) if array.ndim == 2 else (row // array.shape[2], i, row % array.shape[2])
            self._product(f"position {i}", (output, place), (read, (i, index[1])) if read else None)

    def _update(self, name: str, index: Index) -> None:
        """Adam: Kingma and Ba 2015, algorithm 1, with the decoupled decay of Loshchilov and Hutter 2019."""
        step, settings = self.step, self.step.settings
        if is_orthogonal(name, step.weights[name].ndim, settings):
            raise NotTakenApart("Muon's update is the whole matrix made orthogonal. Its momentum begins at 0 here.")
        gradient = float(step.gradients[WEIGHT + name][index])
        first, second = (float(each[name][index]) if name in each else 0.0 for each in step.moments)
        self._explain("Adam's update of this weight.", "w − rate × m̂ / (√v̂ + ε)")
        before = self._line("w, the weight before", float(step.weights[name][index]), WEIGHT + name, index)
        self._line("its gradient", gradient, GRADIENT + WEIGHT + name, index)
        g = self._line(f"g, clipped (× {step.clipping:.4g})", gradient * step.clipping)
        beta1, beta2 = settings.beta1, settings.beta2
        m = self._line(f"m = {beta1} × {first:.4g} + {1 - beta1:.4g} × g", beta1 * first + (1 - beta1) * g)
        v = self._line(f"v = {beta2} × {second**2:.4g} + {1 - beta2:.4g} × g²", beta2 * second**2 + (1 - beta2) * g * g)
        m = self._line(f"m̂ = m / (1 − {beta1}^{step.number})", m / (1 - beta1**step.number))
        v = self._line(f"v̂ = v / (1 − {beta2}^{step.number})", v / (1 - beta2**step.number))
        rate = self._line("rate", step.rate)
        decay = rate * settings.weight_decay * before if step.weights[name].ndim > 1 else 0.0
        if decay:
            self._line("decay, rate × weight_decay × w", decay)
        change = self._line(f"rate × m̂ / (√v̂ + {settings.epsilon:g})", rate * m / (math.sqrt(v) + settings.epsilon))
        self.result = before - decay - change
