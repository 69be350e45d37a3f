"""The arithmetic of one number of a training step, written down: its terms, its lines and its result."""

import math
from typing import Any

import numpy as np
import torch

from regard.config import ModelConfig
from regard.look.data_flow import DataFlow
from regard.look.training_step import GRADIENT, WEIGHT, TrainingStep
from regard.model.position import rotation

Index = tuple[int, ...]


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
