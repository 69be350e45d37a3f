"""What the weights are, how text becomes batches, how to train, how to search: frozen dataclasses.

Standard library only, so that `regard --help` can read them without torch or numpy. The string under a
field is its documentation (`docs/reference/settings.md`); its `Annotated` type names the range of its values.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from regard.config.fields import MAX_HYPOTHESES as MAX_HYPOTHESES
from regard.config.fields import Count, Settings
from regard.config.fields import check_types as check_types
from regard.config.fields import from_dict as from_dict
from regard.config.fields import to_dict as to_dict
from regard.config.model import POSITIONS as POSITIONS
from regard.config.model import RECURRENT as RECURRENT
from regard.config.model import RUNNING_TEXT as RUNNING_TEXT
from regard.config.model import SIZES as SIZES
from regard.config.model import ModelConfig as ModelConfig
from regard.config.model import Position as Position
from regard.config.model import check_belongs as check_belongs
from regard.config.model import recurrent_like as recurrent_like
from regard.config.model import shape_of as shape_of
from regard.config.model import sized as sized

Precision = Literal["auto", "fp32", "bf16"]
ChatTemplate = Literal["lines", "chatml", "llama2", "llama3"]
Objective = Literal["translation", "language", "masked", "contrastive"]


@dataclass(frozen=True, kw_only=True, slots=True)
class DataConfig(Settings):
    """Which text, and how it becomes tokens and batches. None means: chosen from the corpus."""

    source: tuple[str, ...] = ()
    """files of source sentences, one a line (.gz and .xz too)"""
    target: tuple[str, ...] = ()
    """files of their translations, the same number of lines"""
    pairs: tuple[str, ...] = ()
    """files of source TAB target; file@0.3 for three tenths of it in each epoch, file@3 for all of it three times, file#label for the lines with that third column"""
    mix_temperature: Annotated[float, "positive"] = 1.0
    """files of pairs are mixed by their sizes to the power of 1 / this, the largest once in an epoch: 1 as they are, 5 is usual for many languages"""
    tags: tuple[str, ...] = ()
    """for a model of several target languages: that of each file of pairs, such as fr, which <2fr> before its sources tells"""
    lesson: Literal["copy", "reverse", "dates", "translate"] | None = None
    """a small task in place of files, whose pairs the run makes itself: copying letters, reversing them, writing dates in digits, or a little French to English"""
    text: tuple[str, ...] = ()
    """files of running text in place of pairs, a paragraph a line and an empty line between documents: for a decoder-only or encoder-only model"""
    each_line: bool = False
    """each line of running text is a document of its own, such as a sentence"""
    swapped: bool = False
    """the files of pairs hold target TAB source"""
    dialogue: bool = False
    """the pairs are a message and its reply: the finished model chats"""
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
    keep: tuple[str, ...] = ()
    """with init: files of source TAB target that the model must not get worse at; at most 500 of their pairs are translated at the end"""
    test_text: tuple[str, ...] = ()
    """test text, whose perplexity is measured once at the end"""
    source_language: str = ""
    """code such as fr; taken from the file suffix when it looks like one"""
    target_language: str = ""
    """code such as en; taken from the file suffix when it looks like one; that of running text"""
    tokenizer: Literal["bpe", "unigram"] = "bpe"
    """how SentencePiece learns its vocabulary"""
    tokenizer_file: str = ""
    """a tokenizer.model to use for both languages instead of learning one"""
    vocabulary: Annotated[int | None, "positive"] = None
    """number of tokens"""
    joint: bool = True
    """one vocabulary for both languages"""
    embeddings: tuple[str, ...] = ()
    """files of word vectors that the embedding tables start from: word2vec, GloVe or fastText, as wide as d_model"""
    sampling: Annotated[float | None, "fraction"] = None
    """subword regularisation: how often a merge is skipped (bpe) or how flat the distribution is (unigram); 0 turns it off; for pairs only; chosen, 0.15, and 0 for a given model"""
    max_length: Count = 256
    """longest side in tokens; longer pairs are dropped and counted, running text is cut into rows of this length"""
    max_ratio: Annotated[float, "positive"] = 3.0
    """longest allowed ratio of the two sides' lengths; worse pairs are dropped and counted"""
    duplicates: bool = False
    """keep repeated pairs of one file"""
    copies: bool = False
    """keep pairs whose two sides are the same text"""
    wrong_language: bool = False
    """keep pairs with a side in another language than most of the corpus"""
    strict: bool = False
    """stop at the first undecodable line instead of dropping its pair"""
    force: bool = False
    """train on text that looks wrong: sides that do not belong together, or more than half of the lines unusable"""
    shuffle_window: Count = 1_000_000
    """pairs shuffled together; a larger corpus is shuffled in blocks, and then within windows of this size"""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig(Settings):
    """How to train. None means: chosen from the corpus and the device, and printed."""

    objective: Objective | None = None
    """what is learnt: translation; from running text language (the next token, GPT) or masked (hidden tokens, BERT); contrastive (which texts belong together, for search); chosen by the architecture"""
    steps: Annotated[int | None, "positive"] = None
    """updates of the weights"""
    minutes: Annotated[float | None, "positive"] = None
    """train for this long instead, compilation and validation not counted; the learning rate falls with the time"""
    batch_tokens: Annotated[int | None, "positive"] = None
    """tokens of a batch, source and target together; chosen to suit the text and the memory"""
    accumulate: Count = 1
    """batches whose gradients are added before an update"""
    packing: bool | None = None
    """many pairs in one row without padding; chosen when a GPU trains a Transformer whose positions are not biases"""
    learning_rate: Annotated[float | None, "positive"] = None
    """the peak; the paper's formula (d_model * warmup) ** -0.5 when not given with schedule=inverse-sqrt"""
    schedule: Literal["inverse-sqrt", "cosine"] = "cosine"
    """after the warm-up: the paper's inverse square root, or a cosine to zero"""
    warmup: Annotated[int | None, "positive"] = None
    """steps of linear warm-up"""
    optimizer: Literal["adam", "muon"] = "adam"
    """Adam (the paper), or Muon for the matrices of the layers and Adam for the rest"""
    beta1: Annotated[float, "fraction", "below 1"] = 0.9
    """Adam"""
    beta2: Annotated[float, "fraction", "below 1"] = 0.98
    """Adam"""
    epsilon: Annotated[float, "positive"] = 1e-9
    """Adam"""
    weight_decay: Annotated[float, "not negative"] = 0.0
    """decoupled, on matrices only"""
    clip: Annotated[float, "not negative"] = 1.0
    """largest norm of the gradient; 0 turns it off"""
    label_smoothing: Annotated[float | None, "fraction"] = None
    """probability spread evenly over the vocabulary; chosen, 0.1 in translation (the paper), 0.05 in its fine-tuning and none elsewhere"""
    mask_share: Annotated[float, "positive", "fraction"] = 0.15
    """masked: share of the tokens to predict"""
    mask_hidden: Annotated[float, "fraction"] = 0.8
    """masked: share of those replaced by [MASK]"""
    mask_random: Annotated[float, "fraction"] = 0.1
    """masked: share of those replaced by a random token; the rest stays as it is"""
    dropout: Annotated[float | None, "fraction", "below 1"] = None
    """on the embedding sums and each sub-layer's output, as in the paper"""
    adapter: bool = False
    """of a given model: low-rank adapters learn (LoRA) in place of its weights, and are added to them at the end"""
    adapter_rank: Count = 16
    """numbers between the two matrices of an adapter"""
    contrast_temperature: Annotated[float, "positive"] = 0.05
    """contrastive: scores are divided by it; the smaller, the more the nearest wrong answers count"""
    teacher: str = ""
    """contrastive: a search model, by name or folder, that reads the targets; sources get its vectors, in any language"""
    r_drop: Annotated[float, "not negative"] = 0.0
    """weight of the agreement of two dropout passes; 0 turns it off"""
    ema: Annotated[float, "fraction", "below 1"] = 0.999
    """decay of the running average of the weights that is validated and saved; 0 turns it off"""
    average: Count = 1
    """number of best checkpoints averaged into the finished model"""
    validate_every: Annotated[int | None, "positive"] = None
    """steps between validations, which are also the checkpoints"""
    metric: Literal["bleu", "loss"] = "bleu"
    """what early stopping and the choice of the best checkpoint use"""
    patience: Annotated[int, "not negative"] = 4
    """validations without improvement before stopping; 0 turns it off"""
    precision: Precision = "auto"
    """bf16 is autocast; auto means bf16 on a GPU, fp32 elsewhere: on a processor with AMX ask for bf16"""
    keep_tolerance: Annotated[float, "not negative"] = 0.5
    """BLEU that the text of keep may lose; weights that lose more are drawn back towards the given model's"""
    device: str = "auto"
    """auto, cpu, cuda, mps"""
    threads: Annotated[int | None, "positive"] = None
    """threads on a CPU; chosen by timing a few steps, and the same after an interruption"""
    compile: bool | None = None
    """compile the step; chosen when a GPU trains"""
    sharded: bool = False
    """under torchrun: each process keeps a part of the weights and moments (FSDP2) instead of all (DDP)"""
    seed: Annotated[int, "not negative"] = 1
    """of everything random"""
    tensorboard: bool = False
    """write TensorBoard events beside metrics.jsonl"""
    snapshots: Annotated[int | None, "not negative"] = None
    """small copies of the weights kept on the way, for `regard look`; chosen, 13 for a model of at most 5 million weights and else none"""

    def mistakes(self) -> Iterator[str]:
        if self.minutes is not None and self.steps is not None:
            yield f"a run lasts so many steps or minutes: got {self.steps} and {self.minutes}; leave one out"
        if self.minutes is not None and self.schedule != "cosine":
            yield f"minutes needs schedule=cosine, which ends on time: got {self.schedule}; leave one out"
        shares = self.mask_hidden, self.mask_random
        if sum(shares) > 1:
            yield f"mask_hidden and mask_random are parts of a whole: got {shares[0]} and {shares[1]}; lower one"

    @property
    def extent(self) -> str:
        """How long a run is, in words."""
        return f"{self.minutes:g} minutes of steps" if self.minutes else f"{self.steps:,} steps"


@dataclass(frozen=True, kw_only=True, slots=True)
class DecodeConfig(Settings):
    """How to search for an output."""

    method: Literal["beam", "greedy", "sample"] = "beam"
    """beam search, the single best token each time (greedy), or sampling"""
    beam: Annotated[int, "positive", "hypotheses"] = 4
    """hypotheses kept alive, at most 256 (the paper: 4)"""
    length_penalty: Annotated[float, "within 10"] = 0.6
    """alpha: scores are divided by ((5 + length) / 6) ** alpha (the paper: 0.6)"""
    coverage_penalty: Annotated[float, "not negative", "at most 10"] = 0.0
    """beta: rewards hypotheses that have attended to the whole source (Wu et al. 2016, eq. 14)"""
    n_best: Annotated[int, "positive", "hypotheses"] = 1
    """texts returned for each input, all different unless sampled; at most beam, which widens to it if not given"""
    max_length: Annotated[int, "not negative"] = 0
    """longest output in tokens; 0 means input length * 2 + 50 (for an input of n tokens)"""
    min_length: Annotated[int, "not negative"] = 0
    """tokens before the end may come"""
    no_repeat_ngram: Annotated[int, "not negative"] = 0
    """no n-gram of this size appears twice in one output; 0 turns it off"""
    temperature: Annotated[float, "positive", "at most 2"] = 1.0
    """sampling: below 1 sharper, above 1 flatter; at most 2"""
    top_k: Annotated[int, "not negative"] = 0
    """sampling: only the k most probable tokens; 0 means all"""
    top_p: Annotated[float, "fraction"] = 1.0
    """sampling: only the smallest set with this much probability"""
    presence_penalty: Annotated[float, "not negative", "at most 2"] = 0.0
    """sampling: taken from the score of every token that was written before; a prompt's own tokens are not counted"""
    frequency_penalty: Annotated[float, "not negative", "at most 2"] = 0.0
    """sampling: the same, as often as the token was written"""
    seed: Annotated[int | None, "not negative"] = None
    """sampling: the same seed gives the same text"""

    def mistakes(self) -> Iterator[str]:
        if self.top_p == 0:
            yield "top_p must be above 0: got 0; use top_k=1 for the single best token"
        if self.method == "beam" and self.n_best > self.beam:
            sizes = f"n_best={self.n_best}, beam={self.beam}"
            yield f"n_best must be at most beam: got {sizes}; raise beam or lower n_best"


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateConfig(Settings):
    """How chat and write use the search."""

    min_probability: Annotated[float, "fraction"] = 0.0
    """chat: below this probability of its tokens (geometric mean) a reply is replaced by "I am not sure", in English; 0 turns it off"""
    num_turns: Count = 7
    """chat, lines: turns of a conversation that the model reads, the one to answer included, as in its training"""
    chat_template: ChatTemplate = "lines"
    """chat: how a conversation is written: a turn a line (regard's own models), or as Qwen and SmolLM2 (chatml), Llama 2 or Llama 3 learnt it"""
    system: str = ""
    """chat, not with lines: what a model is told before the first turn"""
    translates: bool = True
    """chat: a turn that asks for a translation is answered by the installed translators"""
