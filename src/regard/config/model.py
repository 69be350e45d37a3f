"""What the weights are: the settings of a model, and its named sizes."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from regard.config.fields import Count, Settings, registered
from regard.errors import UsageError, suggest

Architecture = Literal["encoder-decoder", "decoder-only", "encoder-only", "rnn", "gru", "lstm"]
Attention = Literal["scaled-dot", "additive", "dot", "general", "none"]
Norm = Literal["layer", "rms", "batch"]
NormPlacement = Literal["post", "pre"]
FeedForwardKind = Literal["relu", "gelu", "gelu-tanh", "silu", "gated-gelu", "gated-gelu-tanh", "gated-silu"]
Tying = Literal["all", "decoder", "none"]
Biases = Literal["all", "query-key-value", "none"]

BASE = 10000.0  # of the wavelengths of positions, section 3.5
LOW_TURNS, HIGH_TURNS = 1, 4
"""turns in the texts of the first training: Llama 3 slows down pairs below the first, and keeps those above the second"""
POSITIONS = {
    "sinusoidal": {"added", "onnx", "ctranslate2", "page"},
    "learned": {"added", "onnx", "ctranslate2", "page"},
    "rotary": {"rotated", "onnx", "ctranslate2", "page"},
    "relative": {"biased", "page"},
    "alibi": {"biased", "onnx", "page"},
    "scaled": {"added", "onnx", "page"},
    "integer": {"added", "onnx", "page"},
    "none": {"onnx", "page"},
}
"""For each kind where it enters: added to the embedding, rotated queries and keys, or biased scores; then what can express
it, and whatever is not named refuses it. Formulas are registered in `regard.model.position`."""
if TYPE_CHECKING:
    Position = str
else:
    Position = Literal[tuple(POSITIONS)]

RECURRENT = ("rnn", "gru", "lstm")  # architectures that read and write word by word
RUNNING_TEXT = {"language": "decoder-only", "masked": "encoder-only"}  # objectives on running text: architecture
_OF_TRANSFORMERS = {
    *("d_ff", "num_heads", "d_k", "max_positions", "num_buckets", "max_distance", "norm"),
    *("norm_epsilon", "norm_placement", "feed_forward", "output_transform", "num_key_value_heads", "query_key_norm"),
    *("window", "rotary_base", "rotary_factor", "rotary_length", "biases"),
}
_OF_RECURRENT = {"d_state"}
"""settings that the other kind of model does not have"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig(Settings):
    """What the weights are. The defaults are the base model of the 2017 paper."""

    architecture: Architecture = "encoder-decoder"
    """a Transformer with both stacks, only the decoder (GPT) or only the encoder (BERT); or a recurrent encoder-decoder with plain, GRU or LSTM cells"""
    attention: Attention = "scaled-dot"
    """the Transformer's; of a recurrent model additive (Bahdanau), dot or general (Luong), or none: one fixed vector"""
    source_vocab_size: Count = 32000
    """rows of the source embedding; unused in a decoder-only model"""
    target_vocab_size: Count = 32000
    """rows of the target embedding, and columns of the output; unused in an encoder-only model"""
    num_encoder_layers: int = 6
    """N of the encoder"""
    num_decoder_layers: int = 6
    """N of the decoder"""
    d_model: Count = 512
    """width of the vectors that flow between layers"""
    d_ff: Count = 2048
    """width inside the feed-forward"""
    d_state: Count = 1000
    """width of a recurrent decoder's state, and of the encoder's two directions together"""
    num_heads: Count = 8
    """attention heads"""
    d_k: Annotated[int | None, "positive"] = None
    """features of a head; d_model / num_heads (the paper) if not given"""
    num_key_value_heads: Annotated[int | None, "positive"] = None
    """heads of keys and values, each shared by as many queries (Llama, Qwen): num_heads (the paper) if not given, 1 is multi-query"""
    query_key_norm: bool = False
    """an RMS norm of each head's query and key before their product (Qwen 3); decoder-only"""
    window: Annotated[int | None, "positive"] = None
    """words that a word sees, itself included (Mistral); decoder-only, all words before it if not given"""
    position: Position = "sinusoidal"
    """how order enters: sinusoidal (the paper), learned, rotary, relative (T5), alibi (BLOOM), none (recurrent models), or the rejected ideas scaled and integer"""
    max_positions: Count = 1024
    """rows of a learned position table, and the context of an imported model; the other kinds have no limit"""
    rotary_base: Annotated[float, "positive"] = 10000.0
    """rotary positions: the slowest pair of features turns once in about 2 pi times so many words"""
    rotary_factor: Annotated[float, "positive"] = 1.0
    """rotary positions: divisor of the angles, for longer texts than the first training had"""
    rotary_length: Annotated[int, "not negative"] = 0
    """rotary positions: words of that first training's texts; pairs that turn more than four times in them keep their angles (Llama 3); 0: all are divided alike"""
    num_buckets: int = 32
    """relative positions: number of distances told apart, both directions together"""
    max_distance: Count = 128
    """relative positions: farther distances all share one bucket"""
    scaled_embedding: bool = True
    """the embedding times the square root of d_model (the paper), or as it is"""
    norm: Norm = "layer"
    """layer normalisation (the paper), its root-mean-square form, or batch normalisation over the real tokens of a batch"""
    norm_epsilon: Annotated[float, "positive"] = 1e-5
    """added to a norm's variance, so that none is zero"""
    norm_placement: NormPlacement = "post"
    """norm after the residual sum (the paper) or before each sub-layer"""
    embedding_norm: bool = False
    """a norm after the positional sum as well (not in the paper)"""
    feed_forward: FeedForwardKind = "relu"
    """what stands between the two linear maps; gated kinds add a third, gelu-tanh is GPT-2's formula for gelu"""
    biases: Biases = "all"
    """linear maps with a bias: all, those of queries, keys and values alone (Qwen 2), or none (Llama)"""
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

    def mistakes(self) -> Iterator[str]:
        stacks = ("encoder", self.has_encoder), ("decoder", self.has_decoder)
        for name in (f"num_{stack}_layers" for stack, is_there in stacks if is_there):
            if not getattr(self, name) > 0:
                yield f"{name} must be above 0: got {getattr(self, name)}; give a larger one"
        yield from self._of_recurrent() if self.is_recurrent else self._of_transformer()
        sizes = self.source_vocab_size, self.target_vocab_size
        is_shared = self.tied == "all" and self.has_encoder and self.has_decoder
        if is_shared and sizes[0] != sizes[1]:
            yield (
                "tied=all shares one table between both languages, so the vocabularies must be equal: got "
                f"{sizes[0]} and {sizes[1]}; use a joint vocabulary or tied=decoder"
            )

    def _of_transformer(self) -> Iterator[str]:
        if self.attention != "scaled-dot":
            yield f"a Transformer attends by scaled dot products: got attention={self.attention}; leave it out"
        if self.d_k is None and self.d_model % self.num_heads:
            sizes = f"d_model={self.d_model}, num_heads={self.num_heads}"
            yield f"d_model must be a multiple of num_heads: got {sizes}; change one of them, or give d_k"
        if self.position == "sinusoidal" and self.d_model % 2:
            yield f"position=sinusoidal needs pairs of features, so d_model must be even: got {self.d_model}; change it"
        if self.position == "rotary" and self.head_dim % 2:
            yield f"position=rotary needs pairs of features, so d_model / num_heads or d_k must be even: got {self.head_dim}"
        if self.num_heads % (self.num_key_value_heads or 1):
            sizes = f"num_heads={self.num_heads}, num_key_value_heads={self.num_key_value_heads}"
            yield f"num_heads must be a multiple of num_key_value_heads, which queries share evenly: got {sizes}; change one"
        if self.architecture != "decoder-only" and (self.query_key_norm or self.window):
            yield f"query_key_norm and window are for a decoder-only model: got {self.architecture}; leave them out"
        if self.window and "biased" in self.position_traits:
            yield f"window is for positions that add nothing to the scores: got position={self.position}; leave it out"
        if self.num_buckets < 4 or self.max_distance <= self.num_buckets // 2:
            sizes = f"num_buckets={self.num_buckets}, max_distance={self.max_distance}"
            yield f"num_buckets must be at least 4, and max_distance above its half: got {sizes}; T5 has 32 and 128"
        if self.output_transform and (self.has_decoder or self.norm == "batch" or self.is_gated):
            yield "output_transform is for an encoder-only model with a layer or rms norm and no gates: leave it out"

    def _of_recurrent(self) -> Iterator[str]:
        if self.attention == "scaled-dot":
            yield f"architecture={self.architecture} attends by additive, dot, general or none: got scaled-dot; choose one"
        if self.position != "none":
            yield f"architecture={self.architecture} takes no positions: got position={self.position}; set position=none"
        for name in ("embedding_norm", "output_bias", "output_transform"):
            if getattr(self, name):
                yield f"{name} is for Transformers: got architecture={self.architecture}; leave it out"
        if self.d_state % 2:
            yield f"d_state is shared by the encoder's two directions, so it must be even: got {self.d_state}; change it"

    @property
    def position_traits(self) -> set[str]:
        return registered(POSITIONS, "position", self.position)

    @property
    def head_dim(self) -> int:
        return self.d_k or self.d_model // self.num_heads

    @property
    def d_attention(self) -> int:
        """Width of all heads side by side."""
        return self.num_heads * self.head_dim

    @property
    def num_key_heads(self) -> int:
        return self.num_key_value_heads or self.num_heads

    @property
    def widths(self) -> dict[str, int]:
        """The sizes that make its shape, by name."""
        if self.is_recurrent:
            return {"d_model": self.d_model, "d_state": self.d_state}
        return {"d_model": self.d_model, "d_ff": self.d_ff, "heads": self.num_heads}

    @property
    def num_layers(self) -> tuple[int, int]:
        """Layers of the encoder and of the decoder; 0 for a stack that is not there."""
        return (self.num_encoder_layers if self.has_encoder else 0, self.num_decoder_layers if self.has_decoder else 0)

    @property
    def is_gated(self) -> bool:
        return self.feed_forward.startswith("gated-")

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
        raise UsageError(f"size must be one of {', '.join(SIZES)}: got {size!r}{suggest(size, SIZES)}")
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
    is_recurrent = architecture in RECURRENT
    foreign = _OF_TRANSFORMERS if is_recurrent else _OF_RECURRENT
    kind = "Transformers" if is_recurrent else "recurrent models"
    for name in changes:
        if name in foreign:
            raise UsageError(f"{name} is a setting of {kind}: got it with architecture={architecture}; leave it out")


def recurrent_like(model: Mapping[str, Any], architecture: str, attention: str) -> dict[str, Any]:
    """A Transformer's settings as those of a recurrent model with one layer a side and about as many weights."""
    kept = {name: value for name, value in model.items() if name not in _OF_TRANSFORMERS}
    size = {**SIZES["tiny"], **model}
    chosen = {"architecture": architecture, "attention": attention, "d_model": size["d_model"]}
    return {**kept, "num_encoder_layers": 1, "num_decoder_layers": 1, "d_state": _matched_state(size, chosen)}


def _matched_state(size: Mapping[str, int], shape: Mapping[str, Any]) -> int:
    """The multiple of 8 that makes a recurrent model of one layer a side about as large as the Transformer.

    Its weights without tables and biases are a d_state² + b d_state + c.
    """
    width, attention, cell = size["d_model"], shape["attention"], shape["architecture"]
    feed_forward = 2 * width * size["d_ff"]
    encoder = size["num_encoder_layers"] * (4 * width**2 + feed_forward)
    decoder = size["num_decoder_layers"] * (8 * width**2 + feed_forward)
    width, num_gates = shape["d_model"], {"rnn": 1, "gru": 3, "lstm": 4}[cell]
    cells = num_gates * (1.5 if attention in ("dot", "general") else 2.5)
    initial = (1 if attention == "none" else 0.5) * (2 if cell == "lstm" else 1)
    a = cells + initial + {"additive": 2, "general": 1}.get(attention, 0)
    b, c = 2 * num_gates * width + 4 * width, 2 * width**2 - encoder - decoder
    return max(8, 8 * round((math.sqrt(b * b - 4 * a * c) - b) / (16 * a)))
