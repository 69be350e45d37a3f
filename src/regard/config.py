"""What the weights are, how text becomes batches, how to train, how to decode: four frozen dataclasses.

Standard library only, so that `regard --help` can read them without torch or numpy. The string under a
field is its documentation; the command line takes its help from there (`describe`).
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

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
Precision = Literal["auto", "fp32", "bf16"]
Objective = Literal["translation", "language", "masked", "contrastive"]

_Config = TypeVar("_Config")

RECURRENT = ("rnn", "gru", "lstm")
"""the architectures that read and write word by word"""
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
"""the objectives that learn from running text, and the architecture of each"""
OF_RECURRENT = ("d_state",)
"""settings that the other kind of model does not have"""

MOST_HYPOTHESES = 256
"""of one sentence, searched at the same time"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelConfig:
    """What the weights are. The defaults are the base model of the 2017 paper."""

    architecture: Architecture = "encoder-decoder"
    """a Transformer with both stacks, only the decoder (GPT) or only the encoder (BERT); or a recurrent encoder-decoder of plain, GRU or LSTM cells"""
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
    """how order enters: sinusoidal (the paper), learned, rotary, relative (T5), none (as in recurrent models), or the two rejected ideas scaled and integer"""
    max_positions: int = 1024
    """rows of a learned position table; the other kinds have no limit"""
    num_buckets: int = 32
    """of relative positions: how many distances are told apart, both directions together"""
    max_distance: int = 128
    """of relative positions: from here on all are one"""
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
    """a number for each piece of the vocabulary, added to its score (not in the paper)"""
    output_transform: bool = False
    """one more linear map, its activation and a norm before the output (BERT)"""
    pad_id: int = 0
    """fills rows of unequal length; never attended to, never in a loss"""
    bos_id: int = 2
    """what the decoder is fed first"""
    eos_id: int = 3
    """what ends a sentence, on both sides"""

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_positive(
            self,
            "source_vocab_size",
            "target_vocab_size",
            "d_model",
            "d_ff",
            "d_state",
            "num_heads",
            "d_k",
            "max_positions",
            "max_distance",
            "norm_epsilon",
        )
        if self.is_recurrent:
            self._check_recurrent()
        else:
            self._check_transformer()
        if self.tied == "all" and self.has_encoder and self.has_decoder:
            if self.source_vocab_size != self.target_vocab_size:
                raise UsageError(
                    "tied=all shares one table between both languages, so the vocabularies must be equal: got "
                    f"{self.source_vocab_size} and {self.target_vocab_size}; use a joint vocabulary or tied=decoder"
                )
        if self.has_encoder:
            _check_positive(self, "num_encoder_layers")
        if self.has_decoder:
            _check_positive(self, "num_decoder_layers")

    def _check_transformer(self) -> None:
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

    def _check_recurrent(self) -> None:
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
        """The sizes that make its shape, by the words for them."""
        if self.is_recurrent:
            return {"d_model": self.d_model, "d_state": self.d_state}
        return {"d_model": self.d_model, "d_ff": self.d_ff, "heads": self.num_heads}

    @property
    def num_layers(self) -> tuple[int, int]:
        """Of the encoder and of the decoder, none of a stack that is not there."""
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

    A model of one stack has the layers of the deeper one. A recurrent model has one layer on each side, as Bahdanau et al. 2015, and states so wide that it has as
    many weights as the Transformer of that size, the tables left out, which are the same.
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
    """Refuse a setting that the architecture asked for does not have."""
    architecture = changes.get("architecture", "encoder-decoder")
    foreign = OF_TRANSFORMERS if architecture in RECURRENT else OF_RECURRENT
    for name in changes:
        if name in foreign:
            kind = "Transformers" if architecture in RECURRENT else "recurrent models"
            raise UsageError(
                f"{name} is a setting of {kind}: got it with architecture={architecture}; leave it out"
            )


def _matched_state(size: Mapping[str, int], shape: Mapping[str, Any]) -> int:
    """The multiple of 8 that brings a recurrent model's weights nearest the Transformer's; biases left out."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class DataConfig:
    """Which text, and how it becomes pieces and batches. None means: chosen from the corpus."""

    source: tuple[str, ...] = ()
    """files of source sentences, one a line (.gz and .xz too)"""
    target: tuple[str, ...] = ()
    """files of their translations, the same number of lines"""
    pairs: tuple[str, ...] = ()
    """files of source TAB target; name a file n times to sample it n-fold, file#label for the lines with that third column"""
    text: tuple[str, ...] = ()
    """files of running text in place of pairs, a paragraph a line and an empty line between documents: for a decoder-only or encoder-only model"""
    each_line: bool = False
    """each line of running text is a document of its own, such as a sentence"""
    swapped: bool = False
    """the files of pairs hold target TAB source"""
    dialogue: bool = False
    """the pairs are what was said and the reply to it: the finished model chats"""
    valid_source: tuple[str, ...] = ()
    """validation source; without one, sentences are held out of the training text"""
    valid_target: tuple[str, ...] = ()
    """validation target"""
    test_source: tuple[str, ...] = ()
    """test source, translated and scored once at the end"""
    test_target: tuple[str, ...] = ()
    """test reference"""
    valid_text: tuple[str, ...] = ()
    """validation text; without one, documents are held out of the training text"""
    test_text: tuple[str, ...] = ()
    """test text, whose perplexity is measured once at the end"""
    source_language: str = ""
    """code such as fr; taken from the file suffix when it looks like one"""
    target_language: str = ""
    """code such as en; taken from the file suffix when it looks like one; that of running text"""
    tokenizer: Literal["bpe", "unigram"] = "bpe"
    """how SentencePiece learns its pieces"""
    tokenizer_file: str = ""
    """a tokenizer.model to use for both languages instead of learning one"""
    vocabulary: int | None = None
    """number of pieces"""
    joint: bool = True
    """one vocabulary for both languages"""
    embeddings: tuple[str, ...] = ()
    """files of word vectors that the embedding tables start from: word2vec, GloVe or fastText, as wide as d_model"""
    sampling: float = 0.15
    """subword regularisation: how often a merge is skipped (bpe) or how flat pieces are drawn (unigram); 0 turns it off; of pairs only"""
    max_length: int = 256
    """longest side in pieces; longer pairs are dropped and counted, running text is cut into rows of so many"""
    max_ratio: float = 3.0
    """longest allowed ratio of the two sides' lengths; worse pairs are dropped and counted"""
    duplicates: bool = False
    """keep repeated pairs of one file"""
    copies: bool = False
    """keep pairs whose two sides are the same text"""
    wrong_language: bool = False
    """keep pairs with a side in another language than most of the corpus"""
    strict: bool = False
    """stop at the first undecodable line instead of dropping its pair"""
    shuffle_window: int = 1_000_000
    """pairs that are shuffled with one another; a larger corpus is shuffled in blocks, and then within so many pairs"""

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_positive(self, "vocabulary", "max_length", "max_ratio", "shuffle_window")
        _check_fraction(self, "sampling")


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """How to train. None means: chosen from the corpus and the device, and printed."""

    objective: Objective | None = None
    """what is learnt: translation, the target word by word; of running text language, the next piece (GPT), or masked, pieces that are blanks (BERT); contrastive, for search, which texts belong together; chosen by the architecture"""
    steps: int | None = None
    """updates of the weights"""
    minutes: float | None = None
    """train for so long instead, without compilation and validation; the learning rate falls with the time"""
    batch_tokens: int | None = None
    """tokens of a batch, source and target together; chosen, it is as large as the text wants and memory allows"""
    accumulate: int = 1
    """batches whose gradients are added before an update"""
    packing: bool | None = None
    """many pairs in one row without padding; chosen when a GPU trains"""
    learning_rate: float | None = None
    """the peak; the paper's formula (d_model * warmup) ** -0.5 when not given with schedule=inverse-sqrt"""
    schedule: Literal["inverse-sqrt", "cosine"] = "cosine"
    """after the warm-up: the paper's inverse square root, or a cosine to zero"""
    warmup: int | None = None
    """steps of linear warm-up"""
    beta1: float = 0.9
    """Adam"""
    beta2: float = 0.98
    """Adam"""
    epsilon: float = 1e-9
    """Adam"""
    weight_decay: float = 0.0
    """decoupled, on matrices only"""
    clip: float = 1.0
    """largest norm of the gradient; 0 turns it off"""
    label_smoothing: float | None = None
    """probability spread evenly over the vocabulary; chosen, 0.1 in translation (the paper) and none elsewhere"""
    mask_share: float = 0.15
    """masked: the share of the pieces that is asked for"""
    mask_hidden: float = 0.8
    """masked: the share of those that [MASK] stands for"""
    mask_random: float = 0.1
    """masked: the share of those in whose place a random piece stands; the rest stays as it is"""
    dropout: float | None = None
    """on the embedding sums and each sub-layer's output, as in the paper"""
    freeze_embeddings: bool = False
    """leave the rows that came from word vectors as they are"""
    contrast_temperature: float = 0.05
    """contrastive: scores are divided by it; the smaller, the more the nearest wrong answers count"""
    r_drop: float = 0.0
    """weight of the agreement of two dropout passes; 0 turns it off"""
    ema: float = 0.999
    """decay of the running average of the weights that is validated and saved; 0 turns it off"""
    average: int = 1
    """how many of the best checkpoints are averaged into the finished model"""
    validate_every: int | None = None
    """steps between validations, which are also the checkpoints"""
    metric: Literal["bleu", "loss"] = "bleu"
    """what early stopping and the choice of the best checkpoint look at"""
    patience: int = 4
    """validations without improvement before stopping; 0 turns it off"""
    precision: Precision = "auto"
    """bf16 is autocast; auto means bf16 on a GPU, fp32 elsewhere: on a processor with AMX ask for bf16"""
    device: str = "auto"
    """auto, cpu, cuda, mps"""
    compile: bool | None = None
    """compile the step; chosen when a GPU trains"""
    sharded: bool = False
    """under torchrun: each process keeps a part of the weights and moments (FSDP2) instead of all (DDP)"""
    seed: int = 1
    """of everything random"""
    tensorboard: bool = False
    """write TensorBoard events beside metrics.jsonl"""

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_positive(
            self, "steps", "batch_tokens", "accumulate", "learning_rate", "warmup", "average"
        )
        _check_positive(self, "validate_every", "epsilon", "minutes", "contrast_temperature")
        if self.minutes is not None and self.steps is not None:
            raise UsageError(
                f"a run lasts so many steps or so many minutes: got steps={self.steps} and "
                f"minutes={self.minutes}; leave one out"
            )
        if self.minutes is not None and self.schedule != "cosine":
            raise UsageError(
                f"minutes needs schedule=cosine, which ends on time: got {self.schedule}; "
                "leave one out"
            )
        _check_fraction(self, "beta1", "beta2", "label_smoothing", "dropout", "ema")
        _check_fraction(self, "mask_share", "mask_hidden", "mask_random")
        _check_positive(self, "mask_share")
        if self.mask_hidden + self.mask_random > 1:
            raise UsageError(
                f"mask_hidden and mask_random are parts of a whole: got {self.mask_hidden} and "
                f"{self.mask_random}; lower one"
            )
        for name in ("beta1", "beta2", "dropout", "ema"):
            if getattr(self, name) == 1:
                raise UsageError(
                    f"{name} must be below 1, at which nothing is learnt: got 1; give a smaller one"
                )
        _check_not_negative(self, "weight_decay", "clip", "r_drop", "patience", "seed")

    @property
    def extent(self) -> str:
        """How long a run is, in words."""
        return f"{self.minutes:g} minutes of steps" if self.minutes else f"{self.steps:,} steps"


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodeConfig:
    """How to search for an output."""

    method: Literal["beam", "greedy", "sample"] = "beam"
    """beam search, the single best piece each time, or a draw"""
    beam: int = 4
    """hypotheses kept alive, at most 256 (the paper: 4)"""
    length_penalty: float = 0.6
    """alpha: scores are divided by ((5 + length) / 6) ** alpha (the paper: 0.6)"""
    coverage_penalty: float = 0.0
    """beta: rewards hypotheses that have attended to the whole source (Wu et al. 2016, eq. 14)"""
    n_best: int = 1
    """texts returned for each input, all different unless sampled; at most beam, which widens to it if not given"""
    max_length: int = 0
    """longest output in pieces; 0 means input length * 2 + 50 (for an input of n pieces)"""
    min_length: int = 0
    """pieces before the end may come"""
    no_repeat_ngram: int = 0
    """no n-gram of this size appears twice in one output; 0 turns it off"""
    temperature: float = 1.0
    """sampling: below 1 sharper, above 1 flatter; at most 2"""
    top_k: int = 0
    """sampling: only the k most probable pieces; 0 means all"""
    top_p: float = 1.0
    """sampling: only the smallest set with this much probability"""
    presence_penalty: float = 0.0
    """sampling: taken from the score of every piece that was written before; a prompt's own pieces are not counted"""
    frequency_penalty: float = 0.0
    """sampling: the same, as often as the piece was written"""
    seed: int | None = None
    """sampling: the same seed gives the same text"""

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_positive(self, "beam", "n_best", "temperature")
        _check_hypotheses(self, "n_best", "beam")
        _check_fraction(self, "top_p")
        if self.top_p == 0:
            raise UsageError("top_p must be above 0: got 0; use top_k=1 for the single best piece")
        _check_not_negative(
            self, "max_length", "min_length", "no_repeat_ngram", "top_k", "coverage_penalty", "seed"
        )
        _check_not_negative(self, "presence_penalty", "frequency_penalty")
        _check_at_most(self, 2, "temperature", "presence_penalty", "frequency_penalty")
        _check_at_most(self, 10, "length_penalty", "coverage_penalty")
        if self.method == "beam" and self.n_best > self.beam:
            raise UsageError(
                f"n_best must be at most beam: got n_best={self.n_best}, beam={self.beam}; "
                "raise beam or lower n_best"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateConfig:
    """How chat and write use the search."""

    best_of: int = 1
    """write, sampling: continuations started side by side; the most probable one is continued"""
    context_weight: float = 0.0
    """write, sampling: weight of the prompt in context-aware decoding (Shi et al. 2023); takes twice the time"""
    min_probability: float = 0.0
    """chat: below this probability of its tokens (geometric mean) a reply is replaced by "I am not sure", in English; 0 turns it off"""

    def __post_init__(self) -> None:
        _check_positive(self, "best_of")
        _check_hypotheses(self, "best_of")
        _check_not_negative(self, "context_weight")
        _check_at_most(self, 10, "context_weight")
        _check_fraction(self, "min_probability")


MOVED = {
    "attempts": "best_of",
    "prompt_strength": "context_weight",
    "least_probability": "min_probability",
}
"""settings that older versions kept in [decode], with their names in [generate]"""


def with_generate_section(sections: Mapping[str, Any]) -> dict[str, Any]:
    """The sections of a recipe, run or model folder with MOVED settings in their present place.

    >>> with_generate_section({"decode": {"beam": 4, "attempts": 12}})
    {'decode': {'beam': 4}, 'generate': {'best_of': 12}}
    """
    found = dict(sections)
    decode, generate = found.get("decode"), found.get("generate", {})
    if isinstance(decode, Mapping) and isinstance(generate, Mapping):
        moved = {MOVED[key]: value for key, value in decode.items() if key in MOVED}
        found["decode"] = {key: value for key, value in decode.items() if key not in MOVED}
        found["generate"] = {**moved, **generate}
    return found


def from_dict(kind: type[_Config], values: Mapping[str, Any], where: str) -> _Config:
    """Build a config from parsed TOML or JSON; an unknown key or a wrong type is the user's mistake, named."""
    check_types(kind, values, where)
    hints = _field_types(kind)
    return kind(**{key: _convert(value, hints[key]) for key, value in values.items()})


def check_types(kind: type, values: Mapping[str, Any], where: str) -> None:
    """Refuse unknown keys and values of a wrong type."""
    hints = _field_types(kind)
    for key, value in values.items():
        if key not in hints:
            raise UsageError(
                f"{where}: unknown key {key!r}{suggest(key, hints)}; known keys: {', '.join(sorted(hints))}"
            )
        if not _fits(value, hints[key]):
            raise UsageError(
                f"{where}: {key} must be {_type_name(hints[key])}: got {value!r}; correct it"
            )


def to_dict(config: Any) -> dict[str, Any]:
    return dataclasses.asdict(config)


def describe(kind: type) -> dict[str, str]:
    """The documentation string under each field of a config class."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                texts[field.target.id] = str(after.value.value)
    return texts


_TYPES: dict[type, dict[str, Any]] = {}
"""what `_field_types` has found: working it out takes longer than all else about a setting"""


def _field_types(kind: type) -> dict[str, Any]:
    if kind not in _TYPES:
        _TYPES[kind] = get_type_hints(kind, vars(sys.modules[kind.__module__]))
    return _TYPES[kind]


def _choices(hint: Any) -> tuple[Any, ...]:
    """Of a Literal, or of one that may be left out, None among them."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    found = tuple(choice for part in get_args(hint) for choice in _choices(part))
    return (*found, None) if found else ()


def _fits(value: Any, hint: Any) -> bool:
    if choices := _choices(hint):
        return value in choices
    if get_origin(hint) is tuple:
        kind = get_args(hint)[0]
        return (kind is str and isinstance(value, str)) or (
            isinstance(value, (list, tuple)) and all(_fits(item, kind) for item in value)
        )
    allowed = get_args(hint) or (hint,)
    if isinstance(value, bool):
        return bool in allowed
    if isinstance(value, int) and float in allowed:
        return True
    return isinstance(value, tuple(kind for kind in allowed if isinstance(kind, type)))


def _convert(value: Any, hint: Any) -> Any:
    if get_origin(hint) is tuple:
        return (value,) if isinstance(value, str) else tuple(value)
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and int not in (get_args(hint) or (hint,))
    ):
        return float(value) if float in (get_args(hint) or (hint,)) else value
    return value


def _type_name(hint: Any) -> str:
    if choices := _choices(hint):
        return "one of " + ", ".join(str(choice) for choice in choices if choice is not None)
    if get_origin(hint) is tuple:
        texts = get_args(hint)[0] is str
        return "a text or a list of texts" if texts else "a list of whole numbers"
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    return " or ".join(names[kind] for kind in (get_args(hint) or (hint,)) if kind in names)


def _check_choices(config: Any) -> None:
    for name, hint in _field_types(type(config)).items():
        choices, value = _choices(hint), getattr(config, name)
        if choices and value not in choices:
            raise UsageError(
                f"{name} must be {_type_name(hint)}: got {value!r}{suggest(str(value), map(str, choices))}; "
                "use one of these"
            )


def _check_positive(config: Any, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if value is not None and not value > 0:
            raise UsageError(f"{name} must be above 0: got {value}; give a larger one")


def _check_not_negative(config: Any, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if value is not None and not value >= 0:
            raise UsageError(f"{name} must not be negative: got {value}; give 0 or more")


def _check_at_most(config: Any, most: float, *names: str) -> None:
    """Beyond it an output is noise, or empty."""
    for name in names:
        value = getattr(config, name)
        if not -most <= value <= most:
            raise UsageError(
                f"{name} must be from {-most} to {most}: got {value:g}; give one nearer to 0"
                if value < 0
                else f"{name} must be at most {most}: got {value:g}; give a smaller one"
            )


def _check_hypotheses(config: Any, *names: str) -> None:
    for name in names:
        if getattr(config, name) > MOST_HYPOTHESES:
            raise UsageError(
                f"{name} must be at most {MOST_HYPOTHESES}, or memory runs out: got "
                f"{getattr(config, name)}; give a smaller one, 4 to 8 is usual"
            )


def _check_fraction(config: Any, *names: str) -> None:
    for name in names:
        value = getattr(config, name)
        if value is not None and not 0 <= value <= 1:
            raise UsageError(f"{name} must lie between 0 and 1: got {value}; give one between them")
