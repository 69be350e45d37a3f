"""The arithmetic of one number of a training step, written down, and which value of a Transformer reads which."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from regard.config import ModelConfig
from regard.look.training_step import GRADIENT, WEIGHT, TrainingStep
from regard.model.position import rotation

Index = tuple[int, ...]
Reader = tuple[str, str]  # "same" (the number again), "norm" or "linear", and the name of the value


def sub_layers(config: ModelConfig, stack: str) -> list[str]:
    """The paths of the sub-layers of a stack, in their order."""
    cross = ["cross_attention"] * (stack == "decoder" and config.has_encoder)
    kinds = ["self_attention", *cross, "feed_forward"]
    num_layers = config.num_layers[-1 if stack == "decoder" else 0]
    return [f"{stack}.layers.{i}.{kind}" for i in range(num_layers) for kind in kinds]


class DataFlow:
    """The readers of each value of the trace: sub-layers, and the residual stream between them."""

    def __init__(self, config: ModelConfig) -> None:
        self.config, self.is_pre = config, config.norm_placement == "pre"

    def readers(self, name: str) -> list[Reader]:
        """What reads a value; nothing, where the norm of an embedding does."""
        path, _, last = name.rpartition(".")
        parts = sub_layers(self.config, path.split(".")[0])
        if name == "memory":
            crosses = [part for part in sub_layers(self.config, "decoder") if part.endswith("cross_attention")]
            return [("linear", f"{part}.{kind}") for part in crosses for kind in ("key", "value")]
        if last == "position_bias":
            return [("same", f"{part}.masked") for part in parts if part.endswith("self_attention")]
        if last in ("embedding", "position"):
            return [] if self.config.embedding_norm else [("same", f"{path}.input")]
        if last == "input":
            return self._of_stream(sub_layers(self.config, "encoder" if path == "source" else "decoder"), 0)
        if last == "final_norm":
            return self._of_stack(path)
        if last in ("concatenated", "activated"):
            return [("linear", f"{path}.output")]
        if last == "output":
            return [("same", f"{path}.residual")]
        if path not in parts:
            return []
        after = self._of_stream(parts, parts.index(path) + 1)
        if last == "residual":
            return after if self.is_pre else [("norm", f"{path}.norm")]
        return self._of_input(path) if self.is_pre else after

    def _of_stream(self, parts: Sequence[str], place: int) -> list[Reader]:
        """What reads the residual stream where it enters a sub-layer, or leaves the last."""
        if place < len(parts):
            reads = [("norm", f"{parts[place]}.norm")] if self.is_pre else self._of_input(parts[place])
            return [*reads, ("same", f"{parts[place]}.residual")]
        stack = parts[0].split(".")[0]
        return [("norm", f"{stack}.final_norm")] if self.is_pre else self._of_stack(stack)

    def _of_stack(self, stack: str) -> list[Reader]:
        """What reads the output of a stack."""
        is_last = stack == "decoder" or not self.config.has_decoder
        return [("linear", "logits")] if is_last else [("same", "memory")]

    def _of_input(self, part: str) -> list[Reader]:
        """The linear maps that read what enters a sub-layer."""
        kinds = ["hidden", *["gate"] * self.config.is_gated]
        if not part.endswith("feed_forward"):
            kinds = ["query"] if part.endswith("cross_attention") else ["query", "key", "value"]
        return [("linear", f"{part}.{kind}") for kind in kinds]

    def input_of(self, map: str) -> str:
        """What a linear map of a sub-layer reads."""
        path, _, last = map.rpartition(".")
        if last == "output":
            return f"{path}.activated" if path.endswith("feed_forward") else f"{path}.concatenated"
        if last in ("key", "value") and path.endswith("cross_attention"):
            return "memory"
        return f"{path}.norm" if self.is_pre else self.into(path)

    def into(self, part: str) -> str:
        """The residual stream where it enters a sub-layer, or leaves a stack; without a name, the last."""
        stack = part.split(".")[0] or ("decoder" if self.config.has_decoder else "encoder")
        parts = sub_layers(self.config, stack)
        place, last = parts.index(part) if part in parts else len(parts), "residual" if self.is_pre else "norm"
        return f"{parts[place - 1]}.{last}" if place else ("source.input" if stack == "encoder" else "target.input")


class DerivationSheet:
    """The terms, lines and the result of one number; one object for each."""

    def __init__(self, step: TrainingStep, config: ModelConfig) -> None:
        self.step, self.config = step, config
        self.is_rotary = "rotated" in config.position_traits
        self.flow, self.is_pre = DataFlow(config), config.norm_placement == "pre"
        self.terms: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.columns: list[str] = []
        self.result = 0.0
        self.formula, self.sentence = "", "Its arithmetic is not taken apart."

    def _explain(self, sentence: str, formula: str) -> None:
        self.sentence, self.formula = sentence, formula

    def _product(self, label: str, gradient: tuple[str, Index], factor: tuple[str, Index] | None) -> None:
        """A term: the gradient of one value times another value or a weight; without a factor, times 1.

        The gradient of a rotated query or key is turned back by the angle of its position first: two terms.
        """
        (name, index), other = gradient, self._operand(*factor) if factor else {"value": 1.0}
        if not (self.is_rotary and name.endswith(("self_attention.query", "self_attention.key"))):
            return self._term(label, [self._operand(GRADIENT + name, index), other])
        turn = rotation(torch.tensor([[index[1]]]), self.config)
        cosine, sine = (float(each[0, 0, 0, index[2] // 2]) for each in turn)
        for text, own, share in (("cos", index[2], cosine), ("sin", index[2] ^ 1, -sine if index[2] % 2 else sine)):
            place = self._operand(GRADIENT + name, (*index[:2], own))
            self._term(f"{label}, {text}", [place, {"value": share}, other])
        return None

    def _operand(self, name: str, index: Index) -> dict[str, Any]:
        step, inner = self.step, name.removeprefix(WEIGHT)
        arrays = step.gradients if name.startswith(GRADIENT) else step.weights if name != inner else step.trace
        return {
            "value": float(arrays[inner.removeprefix(GRADIENT)][index]),
            "place": {"name": name, "index": list(index)},
        }

    def _term(self, label: str, operands: list[dict[str, Any]]) -> None:
        product = math.prod(operand["value"] for operand in operands)
        self.columns = ["from", "gradient", *["turned back"] * (len(operands) - 2), "times", "product"]
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
        return self.step.trace[name].astype(np.float64)

    def _gradient(self, name: str, index: Index) -> float:
        return float(self.step.gradients[name][index])

    def _shared(self, head: int) -> int:
        """The head of keys and values that a head of queries reads."""
        return head // (self.config.num_heads // self.config.num_key_heads)
