"""One sentence through one model, with every value: what the page shows at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.config import DecodeConfig
from regard.look.subject import Subject
from regard.look.training_step import AFTER, GRADIENT, WEIGHT, TrainingStep
from regard.look.whatif import EditPlan
from regard.trace import Trace
from regard.translate.trace import SearchRecord


@dataclass(frozen=True)
class Run:
    """One sentence through one model, with every value."""

    number: int
    subject: Subject
    text: str  # the given text, or a decoder-only model's prompt
    source: list[int]  # tokens that the encoder read; empty in a decoder-only model
    num_given: int  # number of target tokens that were given
    found: SearchRecord
    trace: Trace
    plan: EditPlan
    decode: DecodeConfig  # how its output was searched
    model: int = 0  # 0, or 1 for the second model
    sentence: int = 0  # which sentence of the text
    original: Run | None = None  # the run that this one changes
    reference: str | None = None
    step: TrainingStep | None = None  # the training step on this text and a reference, which is the output

    @property
    def unchanged(self) -> Run:
        """The run that this one changes, or itself."""
        return self.original or self

    @property
    def sides(self) -> list[str]:
        """Those of source and target that the model reads."""
        return [side for side in ("source", "target") if f"{side}.tokens" in self.trace]

    @property
    def output(self) -> list[int]:
        """Tokens of the target without beginning and end; empty for an encoder-only model."""
        return self.found.hypotheses[0].tokens if self.found.hypotheses else []

    @property
    def written(self) -> str:
        """What the model wrote; for an encoder-only model, the text with its blanks filled in."""
        return self.subject.target.decode(self.output or self.at_places)

    @property
    def translation(self) -> str:
        """The whole text that `translate` gives; without a pipeline, what the model wrote."""
        return self.trace.metadata.get("text.restored", self.written)

    def stage(self, name: str) -> str:
        """The sentence at a stage of the pipeline: as it was `given`, as the model read it (`protected`), `restored`."""
        sentences = self.trace.metadata.get("sentences", [])
        without = self.written if name == "restored" else self.text
        return sentences[self.sentence][name] if sentences else without

    @property
    def at_places(self) -> list[int]:
        """The token at each position that the full pass has scores for; a blank's most probable one."""
        if self.subject.config.has_decoder:
            return [*self.output, self.subject.config.eos_id]
        mask = self.subject.manifest.tokenizer.mask
        blank = self.subject.source.id_of(mask) if mask else None
        best = self.trace["probabilities"].argmax(axis=-1).tolist()
        return [best[i] if id == blank else id for i, id in enumerate(self.source)]

    def tensor(self, name: str) -> np.ndarray | None:
        """A traced value, the weight whose name follows `param:`, or a training step's gradient or updated weight."""
        if self.step is not None and name.startswith((GRADIENT, AFTER)):
            return self.step.tensor(name)
        if name.startswith(WEIGHT):
            value = self.subject.network.state_dict(keep_vars=True).get(name.removeprefix(WEIGHT))
            return None if value is None else value.detach().numpy()
        return None if name.startswith("steps.") or name not in self.trace else self.trace[name]
