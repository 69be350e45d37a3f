"""What a user asks of a run, and the plan that came of it: every setting, the chosen ones included."""

from __future__ import annotations

import dataclasses
import json
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
    to_dict,
    with_generate_section,
)
from regard.errors import TrainingError, UsageError
from regard.files import write_file
from regard.folder.manifest import Manifest, read_manifest
from regard.text.tokenizer import Tokenizer
from regard.train.plan import LEAST_BATCH, NORM_PLACEMENT, choose_size

RUN_FILE = "run.json"
OF_THE_MODEL = ("tokenizer", "tokenizer_file", "vocabulary", "joint", "embeddings")


@dataclass(frozen=True)
class Plan:
    """Everything a run is determined by; saved as run.json."""

    data: DataConfig
    model: ModelConfig
    train: TrainConfig
    decode: DecodeConfig
    init: str
    generate: GenerateConfig = field(default_factory=GenerateConfig)

    def save(self, path: Path) -> None:
        parts = {
            name: to_dict(getattr(self, name))
            for name in ("data", "model", "train", "decode", "generate")
        }
        write_file(path, json.dumps({**parts, "init": self.init}, indent=1).encode())

    @classmethod
    def load(cls, path: Path) -> Plan:
        try:
            values = with_generate_section(json.loads(path.read_text("utf-8")))
            return cls(
                data=from_dict(DataConfig, values["data"], f"{path} data"),
                model=from_dict(ModelConfig, values["model"], f"{path} model"),
                train=from_dict(TrainConfig, values["train"], f"{path} train"),
                decode=from_dict(DecodeConfig, values["decode"], f"{path} decode"),
                init=str(values["init"]),
                generate=from_dict(GenerateConfig, values.get("generate", {}), f"{path} generate"),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TrainingError(
                f"{path.parent} must be the folder of an earlier run to resume it: {error}; "
                "start it without --resume"
            ) from error

    def describe(self, device: str) -> str:
        model, train = self.model, self.train
        more = f" x {train.accumulate}" if train.accumulate > 1 else ""
        after = f" after {train.warmup:,}" if train.warmup else ""
        every = f", a validation every {train.validate_every:,}" if train.validate_every else ""
        kind = f"{model.norm_placement}-norm"
        if model.is_recurrent:
            kind = f"{model.architecture} cells, attention {model.attention}"
        widths = ", ".join(f"{name} {width}" for name, width in model.widths.items())
        layers = "+".join(map(str, model.num_layers))
        return (
            f"model: {layers} layers, {widths}, "
            f"{kind}, {model.target_vocab_size:,} pieces\n"
            f"training on {device}: {train.extent} of {train.batch_tokens:,} tokens{more}"
            f"{', packed' if train.packing else ''}{', compiled' if train.compile else ''}, "
            f"{train.schedule} to {train.learning_rate:.2e}{after}, "
            f"dropout {train.dropout}{every}"
        )

    def with_smaller_batches(self, reason: str) -> Plan:
        """Twice as many batches of half the size to an update; `reason` is why."""
        assert self.train.batch_tokens is not None
        batch_tokens = self.train.batch_tokens // 2
        if batch_tokens < LEAST_BATCH:
            raise TrainingError(reason)
        train = dataclasses.replace(
            self.train, batch_tokens=batch_tokens, accumulate=2 * self.train.accumulate
        )
        return dataclasses.replace(self, train=train)


@dataclass(frozen=True)
class Request:
    """What a user asks for; everything else is chosen."""

    data: DataConfig
    train: TrainConfig = field(default_factory=TrainConfig)
    size: str | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    """changes to the named size, by the field names of ModelConfig"""
    decode: DecodeConfig = field(default_factory=DecodeConfig)
    generate: GenerateConfig = field(default_factory=GenerateConfig)
    init: Path | None = None
    """a model folder whose weights and tokenizers the run starts from"""

    def check(self) -> None:
        """Refuse what contradicts itself, before any text is read."""
        if self.init is not None:
            asked = ["size"] * bool(self.size) + list(self.model)
            asked += [key for key, _ in _asked(self.data) if key in OF_THE_MODEL]
            if asked:
                raise UsageError(
                    f"--init takes shape and tokenizer from the given model: got {asked[0]} as well; "
                    "leave it out"
                )
        architecture = self.architecture
        if self.objective == "contrastive":
            self._check_contrastive()
        elif self.objective in RUNNING_TEXT:
            self._check_running_text()
        elif architecture not in ("encoder-decoder", *RECURRENT) or self.data.text:
            raise UsageError(
                f"objective=translation learns an encoder-decoder model from pairs: got architecture={architecture}"
                f"{' and running text' if self.data.text else ''}; leave it out"
            )
        check_belongs(self.model)
        if architecture in RECURRENT and self.train.packing:
            raise UsageError(
                f"architecture={architecture} reads one sentence a row: got packing=true; leave it out"
            )
        if self.data.tokenizer_file and not self.data.joint:
            raise UsageError(
                "tokenizer_file is one tokenizer for both languages: got it with joint=false; "
                "leave one of them out"
            )
        if architecture in RECURRENT and self.train.sharded:
            raise UsageError(
                f"architecture={architecture} steps through its cells and cannot be cut up: got sharded=true; "
                "leave it out"
            )
        if self.train.freeze_embeddings and self.train.sharded:
            raise UsageError(
                "freeze_embeddings holds rows of whole tables: got sharded=true; leave one out"
            )
        if self.train.freeze_embeddings and not self.data.embeddings:
            raise UsageError(
                "freeze_embeddings needs word vectors: got none; name some with embeddings"
            )
        if self.train.freeze_embeddings and self.train.weight_decay:
            raise UsageError(
                "freeze_embeddings leaves rows as they are, which weight_decay does not: got both; "
                "leave one out"
            )

    def _check_contrastive(self) -> None:
        if self.architecture != "encoder-only":
            raise UsageError(
                "objective=contrastive trains an encoder alone: got "
                f"architecture={self.architecture}; leave it out"
            )
        if not self.data.joint:
            raise UsageError(
                "objective=contrastive reads both sides with one encoder: got joint=false, a vocabulary for "
                "each; leave it out"
            )
        if self.train.r_drop:
            raise UsageError(
                f"r_drop is for words that are predicted: got r_drop={self.train.r_drop} with "
                "objective=contrastive; leave it out"
            )

    def _check_running_text(self) -> None:
        objective, data = self.objective, self.data
        if self.architecture != RUNNING_TEXT[objective]:
            raise UsageError(
                f"objective={objective} trains a model that is {RUNNING_TEXT[objective]}: got "
                f"architecture={self.architecture}; leave one out"
            )
        if not data.text or data.source or data.pairs:
            raise UsageError(
                f"a model that is {self.architecture} learns from running text: got "
                f"{'pairs' if data.source or data.pairs else 'none'}; give --text, or objective=contrastive"
            )
        if not data.joint:
            raise UsageError(
                "running text has one vocabulary: got joint=false, two of them; leave it out"
            )

    @property
    def objective(self) -> Objective:
        """What was asked for, or what the architecture or the text suggest."""
        if self.train.objective is not None:
            return self.train.objective
        asked = self.model.get("architecture")
        if self.init is not None:
            asked = read_manifest(self.init).model.architecture
        if asked is None:
            return "language" if self.data.text else "translation"
        of_architecture: dict[str, Objective] = {
            "decoder-only": "language",
            "encoder-only": "masked",
        }
        return of_architecture.get(asked, "translation")

    @property
    def architecture(self) -> str:
        if self.init is not None and self.objective != "contrastive":
            return read_manifest(self.init).model.architecture
        alone = {**RUNNING_TEXT, "contrastive": "encoder-only"}
        usual = alone.get(self.objective, "encoder-decoder")
        return str(self.model.get("architecture", usual))

    def check_against(self, plan: Plan) -> None:
        """A run is resumed as it began: refuse settings that say otherwise."""
        parts = (
            (self.data, plan.data),
            (self.train, plan.train),
            (self.decode, plan.decode),
            (self.generate, plan.generate),
        )
        wishes = [
            (key, value, getattr(then, key)) for now, then in parts for key, value in _asked(now)
        ]
        kind = {name: getattr(plan.model, name) for name in ("architecture", "attention")}
        chosen = shape_of(self.size, {**kind, **self.model}) if self.size else {}
        shape = {**self.model, **chosen}
        wishes += [(key, value, getattr(plan.model, key)) for key, value in shape.items()]
        if self.init is not None:
            wishes.append(("init", str(self.init), plan.init))
        for key, now, then in wishes:
            if now != then:
                raise UsageError(
                    f"--resume continues a run as it began, with {key}={then!r}: got {now!r}; "
                    "leave it out, or start a new run"
                )

    def model_for(self, tokenizers: tuple[Tokenizer, Tokenizer], num_pairs: int) -> ModelConfig:
        """The named size, or the one that suits the corpus, with the changes asked for."""
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
        """That of the model to start from, or of its encoder where no more is trained."""
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


def _asked(config: Any) -> Iterator[tuple[str, Any]]:
    """The fields that differ from their default."""
    for each in dataclasses.fields(config):
        value = getattr(config, each.name)
        if value != each.default:
            yield each.name, value
