"""The request for a run: the settings a user has given. Everything else is chosen."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.config import (
    RECURRENT,
    RUNNING_TEXT,
    DataConfig,
    DecodeConfig,
    GenerateConfig,
    ModelConfig,
    Objective,
    TrainConfig,
    check_belongs,
    check_types,
    from_dict,
    shape_of,
)
from regard.errors import UsageError
from regard.folder.manifest import Manifest, read_manifest
from regard.text.tokenizer import Tokenizer
from regard.train.plan import NORM_PLACEMENT, Plan, choose_size

MODEL_SETTINGS = ("tokenizer", "tokenizer_file", "vocabulary", "joint", "embeddings")
"""Data settings that a given model decides."""


@dataclass(frozen=True)
class Request:
    data: DataConfig
    train: TrainConfig = field(default_factory=TrainConfig)
    size: str | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    """changes to the named size, by the field names of ModelConfig"""
    decode: DecodeConfig = field(default_factory=DecodeConfig)
    generate: GenerateConfig = field(default_factory=GenerateConfig)
    init: Path | None = None
    """a model folder whose weights and tokenizers the run starts from"""

    @property
    def objective(self) -> Objective:
        """The given objective, or the one that architecture or text suggest."""
        if self.train.objective is not None:
            return self.train.objective
        architecture = self.model.get("architecture")
        if self.init is not None:
            architecture = read_manifest(self.init).model.architecture
        if architecture is None:
            return "language" if self.data.text else "translation"
        suggested: dict[str, Objective] = {"decoder-only": "language", "encoder-only": "masked"}
        return suggested.get(architecture, "translation")

    @property
    def architecture(self) -> str:
        if self.init is not None and self.objective != "contrastive":
            return read_manifest(self.init).model.architecture
        alone = {**RUNNING_TEXT, "contrastive": "encoder-only"}
        return str(self.model.get("architecture", alone.get(self.objective, "encoder-decoder")))

    def check(self) -> None:
        """Refuse contradictions before any text is read."""
        for problem in self._problems():
            raise UsageError(problem)
        check_belongs(self.model)
        for problem in self._training_problems():
            raise UsageError(problem)

    def _problems(self) -> Iterator[str]:
        data = self.data
        if self.init is not None:
            given = ["size"] * bool(self.size) + list(self.model)
            given += [key for key, _ in _given(data) if key in MODEL_SETTINGS]
            for key in given:
                yield (
                    f"--init takes shape and tokenizer from the given model: got {key} as well; "
                    "leave it out"
                )
        objective, architecture = self.objective, self.architecture
        if objective == "contrastive":
            if architecture != "encoder-only":
                yield (
                    "objective=contrastive trains an encoder alone: got "
                    f"architecture={architecture}; leave it out"
                )
            if not data.joint:
                yield (
                    "objective=contrastive reads both sides with one encoder: got joint=false, a vocabulary for "
                    "each; leave it out"
                )
            if self.train.r_drop:
                yield (
                    f"r_drop is for words that are predicted: got r_drop={self.train.r_drop} with "
                    "objective=contrastive; leave it out"
                )
        elif objective in RUNNING_TEXT:
            if architecture != RUNNING_TEXT[objective]:
                yield (
                    f"objective={objective} trains a model that is {RUNNING_TEXT[objective]}: got "
                    f"architecture={architecture}; leave one out"
                )
            if not data.text or data.source or data.pairs:
                yield (
                    f"a model that is {architecture} learns from running text: got "
                    f"{'pairs' if data.source or data.pairs else 'none'}; give --text, or objective=contrastive"
                )
            if not data.joint:
                yield "running text has one vocabulary: got joint=false, two of them; leave it out"
        elif architecture not in ("encoder-decoder", *RECURRENT) or data.text:
            yield (
                f"objective=translation learns an encoder-decoder model from pairs: got architecture={architecture}"
                f"{' and running text' if data.text else ''}; leave it out"
            )

    def _training_problems(self) -> Iterator[str]:
        train, architecture = self.train, self.architecture
        if architecture in RECURRENT and train.packing:
            yield f"architecture={architecture} reads one sentence a row: got packing=true; leave it out"
        if self.data.tokenizer_file and not self.data.joint:
            yield (
                "tokenizer_file is one tokenizer for both languages: got it with joint=false; "
                "leave one of them out"
            )
        if architecture in RECURRENT and train.sharded:
            yield (
                f"architecture={architecture} steps through its cells and cannot be cut up: got sharded=true; "
                "leave it out"
            )
        if train.freeze_embeddings:
            if train.sharded:
                yield "freeze_embeddings holds rows of whole tables: got sharded=true; leave one out"
            if not self.data.embeddings:
                yield "freeze_embeddings needs word vectors: got none; name some with embeddings"
            if train.weight_decay:
                yield (
                    "freeze_embeddings leaves rows as they are, which weight_decay does not: got both; "
                    "leave one out"
                )

    def check_against(self, plan: Plan) -> None:
        """Refuse settings that differ from those of the resumed run."""
        settings = [
            (key, value, getattr(getattr(plan, section), key))
            for section in ("data", "train", "decode", "generate")
            for key, value in _given(getattr(self, section))
        ]
        kind = {name: getattr(plan.model, name) for name in ("architecture", "attention")}
        sized = shape_of(self.size, {**kind, **self.model}) if self.size else {}
        shape = {**self.model, **sized}
        settings += [(key, value, getattr(plan.model, key)) for key, value in shape.items()]
        if self.init is not None:
            settings.append(("init", str(self.init), plan.init))
        for key, now, then in settings:
            if now != then:
                raise UsageError(
                    f"--resume continues a run as it began, with {key}={then!r}: got {now!r}; "
                    "leave it out, or start a new run"
                )

    def model_for(self, tokenizers: tuple[Tokenizer, Tokenizer], num_pairs: int) -> ModelConfig:
        """The named size, or the one that suits the corpus, with the given changes."""
        chosen: dict[str, Any] = {
            "source_vocab_size": tokenizers[0].vocab_size,
            "target_vocab_size": tokenizers[1].vocab_size,
            "norm_placement": NORM_PLACEMENT,
        }
        if tokenizers[0] is not tokenizers[1]:
            chosen["tied"] = "decoder"
        model = {**self.model, "architecture": self.architecture}
        check_types(ModelConfig, model, "model")
        size = self.size or choose_size(num_pairs)
        return from_dict(ModelConfig, {**chosen, **shape_of(size, model)}, "model")

    def model_from(self, manifest: Manifest) -> ModelConfig:
        """The shape of the given model, or of its encoder for contrastive training."""
        model, joint = manifest.model, manifest.tokenizer.joint
        if self.objective != "contrastive":
            return model
        if model.is_recurrent or not model.has_encoder or not joint:
            vocabulary = "one vocabulary" if joint else "two vocabularies"
            raise UsageError(
                "objective=contrastive starts from a Transformer with an encoder and one vocabulary: got "
                f"architecture={model.architecture} with {vocabulary}; use another --init"
            )
        return dataclasses.replace(
            model,
            architecture="encoder-only",
            target_vocab_size=model.source_vocab_size,
            tied="all",
            output_bias=False,
            output_transform=False,
        )


def _given(config: Any) -> Iterator[tuple[str, Any]]:
    """The fields that differ from their default."""
    for each in dataclasses.fields(config):
        value = getattr(config, each.name)
        if value != each.default:
            yield each.name, value
