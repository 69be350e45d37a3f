"""What the weights are: the settings of a model, and its named sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from regard.config.fields import check, check_choices
from regard.errors import UsageError, suggest

Architecture = Literal["encoder-decoder", "decoder-only", "encoder-only", "rnn", "gru", "lstm"]
Attention = Literal["scaled-dot", "additive", "dot", "general", "none"]
Position = Literal["sinusoidal", "learned", "rotary", "relative", "scaled", "integer", "none"]
Norm = Literal["layer", "rms", "batch"]
NormPlacement = Literal["post", "pre"]
FeedForwardKind = Literal[
    "relu", "gelu", "gelu-tanh", "silu", "gated-gelu", "gated-gelu-tanh", "gated-silu"
]
Tying = Literal["all", "decoder", "none"]

RECURRENT = ("rnn", "gru", "lstm")
"""Architectures that read and write word by word."""
OF_TRANSFORMERS = (
    "d_ff",
    "num_heads",
    "d_k",
    "max_positions",
    "num_buckets",
    "max_distance",
    "norm",
    "norm_epsilon",
    "norm_placement",
    "feed_forward",
    "output_transform",
)
RUNNING_TEXT = {"language": "decoder-only", "masked": "encoder-only"}
"""Objectives that learn from running text, with the architecture of each."""
OF_RECURRENT = ("d_state",)
"""Settings that the other kind of model does not have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """What the weights are. The defaults are the base model of the 2017 paper."""

    architecture: Architecture = "encoder-decoder"
    """a Transformer with both stacks, only the decoder (GPT) or only the encoder (BERT); or a recurrent encoder-decoder with plain, GRU or LSTM cells"""
    attention: Attention = "scaled-dot"
    """the Transformer's; of a recurrent model additive (Bahdanau), dot or general (Luong), or none: one fixed vector"""
    source_vocab_size: int = 32000
    """rows of the source embedding; unused in a decoder-only model"""
    target_vocab_size: int = 32000
    """rows of the target embedding, and columns of the output; unused in an encoder-only model"""
    num_encoder_layers: int = 6
    """N of the encoder"""
    num_decoder_layers: int = 6
    """N of the decoder"""
    d_model: int = 512
    """width of the vectors that flow between layers"""
    d_ff: int = 2048
    """width inside the feed-forward"""
    d_state: int = 1000
    """width of a recurrent decoder's state, and of the encoder's two directions together"""
    num_heads: int = 8
    """attention heads"""
    d_k: int | None = None
    """features of a head; d_model / num_heads (the paper) if not given"""
    position: Position = "sinusoidal"
    """how order enters: sinusoidal (the paper), learned, rotary, relative (T5), none (recurrent models), or the rejected ideas scaled and integer"""
    max_positions: int = 1024
    """rows of a learned position table; the other kinds have no limit"""
    num_buckets: int = 32
    """relative positions: number of distances told apart, both directions together"""
    max_distance: int = 128
    """relative positions: farther distances all share one bucket"""
    scaled_embedding: bool = True
    """the embedding times the square root of d_model (the paper), or as it is"""
    norm: Norm = "layer"
    """layer normalisation (the paper), its root-mean-square form, or batch normalisation over the real tokens of a batch"""
    norm_epsilon: float = 1e-5
    """added to a norm's variance, so that none is zero"""
    norm_placement: NormPlacement = "post"
    """norm after the residual sum (the paper) or before each sub-layer"""
    embedding_norm: bool = False
    """a norm after the positional sum as well (not in the paper)"""
    feed_forward: FeedForwardKind = "relu"
    """what stands between the two linear maps; gated kinds add a third, gelu-tanh is GPT-2's formula for gelu"""
    tied: Tying = "all"
    """shared tables: all (source, target and output), decoder (target and output) or none"""
    output_bias: bool = False
    """a number for each token of the vocabulary, added to its score (not in the paper)"""
    output_transform: bool = False
    """one more linear map, its activation and a norm before the output (BERT)"""
    pad_id: int = 0
    """fills rows of unequal length; never attended to, never in a loss"""
    bos_id: int = 2
    """the decoder's first input"""
    eos_id: int = 3
    """the end of a sentence, on both sides"""

    def __post_init__(self) -> None:
        check_choices(self)
        check(
            self, "positive", "source_vocab_size", "target_vocab_size", "d_model", "d_ff", "d_state"
        )
        check(self, "positive", "num_heads", "d_k", "max_positions", "max_distance", "norm_epsilon")
        if self.has_encoder:
            check(self, "positive", "num_encoder_layers")
        if self.has_decoder:
            check(self, "positive", "num_decoder_layers")
        if self.is_recurrent:
            self.check_recurrent()
        else:
            self.check_transformer()
        shares_all = self.tied == "all" and self.has_encoder and self.has_decoder
        if shares_all and self.source_vocab_size != self.target_vocab_size:
            raise UsageError(
                "tied=all shares one table between both languages, so the vocabularies must be equal: got "
                f"{self.source_vocab_size} and {self.target_vocab_size}; use a joint vocabulary or tied=decoder"
            )

    def check_transformer(self) -> None:
        if self.attention != "scaled-dot":
            raise UsageError(
                f"a Transformer attends by scaled dot products: got attention={self.attention}; leave it out, "
                "or set architecture to rnn, gru or lstm"
            )
        if self.d_k is None and self.d_model % self.num_heads:
            raise UsageError(
                f"d_model must be a multiple of num_heads: got d_model={self.d_model}, "
                f"num_heads={self.num_heads}; change one of them, or give d_k"
            )
        if self.position == "sinusoidal" and self.d_model % 2:
            raise UsageError(
                "position=sinusoidal fills features in pairs of sine and cosine, so d_model must be even: "
                f"got {self.d_model}; change d_model"
            )
        if self.position == "rotary" and self.head_dim % 2:
            raise UsageError(
                "position=rotary turns features in pairs, so d_k, which is d_model / num_heads if not given, must be "
                f"even: got {self.head_dim}; change one of them"
            )
        if self.num_buckets < 4 or self.max_distance <= self.num_buckets // 2:
            raise UsageError(
                "num_buckets must be at least 4, and max_distance above its half: got "
                f"num_buckets={self.num_buckets}, max_distance={self.max_distance}; T5 has 32 and 128"
            )
        gated = self.feed_forward.startswith("gated-")
        if self.output_transform and (self.has_decoder or self.norm == "batch" or gated):
            raise UsageError(
                "output_transform is for an encoder-only model with a layer or rms norm and no gates: got "
                f"architecture={self.architecture}, norm={self.norm}, feed_forward={self.feed_forward}; "
                "leave it out"
            )

    def check_recurrent(self) -> None:
        if self.attention == "scaled-dot":
            raise UsageError(
                f"architecture={self.architecture} attends by additive, dot, general or none: got "
                "attention=scaled-dot, the Transformer's; choose one of these"
            )
        if self.position != "none":
            raise UsageError(
                f"architecture={self.architecture} reads in order and takes no positions: got "
                f"position={self.position}; set position=none"
            )
        for name in ("embedding_norm", "output_bias", "output_transform"):
            if getattr(self, name):
                raise UsageError(
                    f"{name} is for Transformers: got architecture={self.architecture}; leave it out"
                )
        if self.d_state % 2:
            raise UsageError(
                "d_state is shared by the encoder's two directions, so it must be even: "
                f"got {self.d_state}; change d_state"
            )

    @property
    def head_dim(self) -> int:
        return self.d_k or self.d_model // self.num_heads

    @property
    def d_attention(self) -> int:
        """Width of all heads side by side."""
        return self.num_heads * self.head_dim

    @property
    def widths(self) -> dict[str, int]:
        """The sizes that make its shape, by name."""
        if self.is_recurrent:
            return {"d_model": self.d_model, "d_state": self.d_state}
        return {"d_model": self.d_model, "d_ff": self.d_ff, "heads": self.num_heads}

    @property
    def num_layers(self) -> tuple[int, int]:
        """Layers of the encoder and of the decoder; 0 for a stack that is not there."""
        return (
            self.num_encoder_layers if self.has_encoder else 0,
            self.num_decoder_layers if self.has_decoder else 0,
        )

    @property
    def is_recurrent(self) -> bool:
        return self.architecture in RECURRENT

    @property
    def has_encoder(self) -> bool:
        return self.architecture != "decoder-only"

    @property
    def has_decoder(self) -> bool:
        return self.architecture != "encoder-only"


SIZES: dict[str, dict[str, int]] = {
    "tiny": dict(num_encoder_layers=2, num_decoder_layers=2, d_model=128, d_ff=512, num_heads=4),
    "small": dict(num_encoder_layers=6, num_decoder_layers=2, d_model=256, d_ff=1024, num_heads=4),
    "base": dict(num_encoder_layers=6, num_decoder_layers=6, d_model=512, d_ff=2048, num_heads=8),
    "big": dict(num_encoder_layers=6, num_decoder_layers=6, d_model=1024, d_ff=4096, num_heads=16),
}
"""The named sizes: one dial for the shape. `base` and `big` are the paper's."""


def sized(size: str, **changes: Any) -> ModelConfig:
    """The configuration of a named size, with changes.

    >>> sized("base").head_dim
    64
    >>> sized("base", architecture="gru").d_state
    1848
    """
    return ModelConfig(**shape_of(size, changes))


def shape_of(size: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a named size sets for an architecture, with changes.

    A model of one stack has the layers of the deeper one. A recurrent model has one layer on each side, as in
    Bahdanau et al. 2015; its states are so wide that it has as many weights as the Transformer of that size.
    """
    if size not in SIZES:
        raise UsageError(
            f"size must be one of {', '.join(SIZES)}: got {size!r}{suggest(size, SIZES)}"
        )
    if changes.get("architecture") in RUNNING_TEXT.values():
        one_stack = dict(num_decoder_layers=SIZES[size]["num_encoder_layers"])
        return {**SIZES[size], **one_stack, **changes}
    if changes.get("architecture") not in RECURRENT:
        return {**SIZES[size], **changes}
    recurrent = dict(num_encoder_layers=1, num_decoder_layers=1, d_model=SIZES[size]["d_model"])
    shape = {**recurrent, "position": "none", "attention": "additive", **changes}
    return {"d_state": _matched_state(SIZES[size], shape), **shape}


def check_belongs(changes: Mapping[str, Any]) -> None:
    """Refuse a setting that the architecture does not have."""
    architecture = changes.get("architecture", "encoder-decoder")
    foreign = OF_TRANSFORMERS if architecture in RECURRENT else OF_RECURRENT
    for name in changes:
        if name in foreign:
            kind = "Transformers" if architecture in RECURRENT else "recurrent models"
            raise UsageError(
                f"{name} is a setting of {kind}: got it with architecture={architecture}; leave it out"
            )


def _matched_state(size: Mapping[str, int], shape: Mapping[str, Any]) -> int:
    """The multiple of 8 that makes a recurrent model about as large as the Transformer, without biases."""
    width = size["d_model"]
    feed_forward = 2 * width * size["d_ff"]
    encoder = size["num_encoder_layers"] * (4 * width**2 + feed_forward)
    decoder = size["num_decoder_layers"] * (8 * width**2 + feed_forward)
    return min(
        range(8, 16384, 8),
        key=lambda d_state: abs(_num_recurrent(d_state, shape) - encoder - decoder),
    )


def _num_recurrent(d_state: int, shape: Mapping[str, Any]) -> int:
    """Weights of a recurrent model of one layer a side, without tables and biases."""
    attention, d_model = shape["attention"], shape["d_model"]
    num_gates = {"rnn": 1, "gru": 3, "lstm": 4}[shape["architecture"]]
    fed = 0 if attention in ("dot", "general") else d_state
    cells = num_gates * d_state * (d_model + d_state // 2 + d_model + fed + d_state)
    summary = d_state if attention == "none" else d_state // 2
    start = summary * d_state * (2 if shape["architecture"] == "lstm" else 1)
    compared = {"additive": 2 * d_state**2, "general": d_state**2}.get(attention, 0)
    readout = 2 * d_model * (2 * d_state + d_model)
    return cells + start + compared + readout
