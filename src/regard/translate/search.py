"""What a caller asks of its translations, the same in tokens, and searches in batches."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any

from regard.config import MAX_HYPOTHESES, DecodeConfig
from regard.data.batches import batches_for_inference
from regard.decode import Constraints, Hypothesis, StepModel, StepRecord, search, whole_search
from regard.decode.constraints import contains
from regard.errors import UsageError
from regard.text.tokenizer import TokenizerBase
from regard.text.words import Spellings
from regard.translate.glossary import Glossary

_BATCH_TOKENS = {"cpu": 4096, "cuda": 65536}  # source tokens times hypotheses that are searched together


@dataclass(frozen=True, kw_only=True, slots=True)
class TranslateOptions:
    """Options of a translation beside those of the search."""

    prefix: str = ""  # text that every output begins with
    prefix_tokens: Sequence[int] = ()  # the prefix as tokens; look forces a next word by it
    banned: Sequence[str] = ()  # words that no output holds, spelt exactly so, however they are tokenized
    required: Sequence[str] = ()  # words that every output holds
    glossary: Glossary | None = None
    """terms and their translations, which an output holds where its sentence holds the term"""
    split: bool = True  # cut a text into sentences; otherwise only where it is too long for the model
    alignment: bool = False  # add to each candidate which word became which
    plain: bool = False  # give the text to the model as it is: no normalisation, no protected spans
    number: int = 0  # sentences translated before this call: it and the seed decide what is sampled
    mbr: str = ""
    """chrf or bleu: minimum Bayes risk, the sample that agrees best with all others by this measure"""
    samples: int = 32  # samples that are drawn of each sentence for it

    def __post_init__(self) -> None:
        if self.mbr not in ("", "chrf", "bleu"):
            raise UsageError(f"mbr must be chrf or bleu: got {self.mbr!r}; choose one")
        if not 2 <= self.samples <= MAX_HYPOTHESES:
            raise UsageError(f"samples must be from 2 to {MAX_HYPOTHESES}: got {self.samples}; give another number")

    @property
    def single_sentence(self) -> bool:
        """Whether the options can only be met by a text that is one sentence."""
        return bool(self.prefix or self.prefix_tokens or self.required)


DEFAULT_OPTIONS = TranslateOptions()


class ConstraintBuilder:
    """The words of the options as constraints in tokens."""

    def __init__(
        self, target: TokenizerBase, spellings: Spellings, decode: DecodeConfig, options: TranslateOptions
    ) -> None:
        self._target, self._spellings, self._options = target, spellings, options
        if options.glossary is not None and decode.method != "beam":
            raise UsageError(f"a glossary needs beam search: got method={decode.method}; use method=beam")
        if not all(word.strip() for word in (*options.banned, *options.required)):
            raise UsageError("a banned or required word must have letters: got an empty one; leave it out")
        self._banned = {word: spellings.of(word) for word in options.banned}
        self._prefix = list(options.prefix_tokens) or [
            *target.beginning,
            *(target.encode(options.prefix) if options.prefix else []),
        ]
        self.default = self.build()

    def build(self, required: Sequence[str] = (), banned: Sequence[str] = ()) -> Constraints:
        """The constraints of the options and of one sentence; words that are required are not banned for it."""
        wanted = {word: self._target.encode(word) for word in (*self._options.required, *required)}
        asked = {self._options.prefix: self._prefix, **wanted}
        for word, spellings in self._banned.items():
            for text, ids in asked.items():
                if any(contains(ids, spelling) for spelling in spellings):
                    raise UsageError(
                        f"a word cannot be both banned and asked for: {word!r} is banned and stands in "
                        f"{text!r}; drop one of the two"
                    )
        bans = [spelling for spellings in self._banned.values() for spelling in spellings]
        for word in banned:
            spellings = self._spellings.of(word)
            if not any(contains(ids, each) for ids in asked.values() for each in spellings):
                bans += spellings
        return Constraints(self._prefix, bans, list(wanted.values()), self._spellings.inside if wanted else frozenset())


@dataclass(frozen=True, slots=True)
class SearchInput:
    """Everything that one search depends on, the engine aside."""

    source: list[int]
    decode: DecodeConfig
    constraints: Constraints = Constraints()
    number: int = 0  # place among the sentences of a call; it and the seed decide what is sampled
    attention: bool = False


def search_in_batches(
    engine: StepModel, inputs: Sequence[SearchInput], history: list[StepRecord] | None = None
) -> list[list[Hypothesis]]:
    """The hypotheses of each input, best first; inputs of the same settings and similar length run together.

    Several batches are searched side by side where the engine has copies. No output depends on it.
    """
    copies: Sequence[StepModel] = (getattr(engine, "copies", None) or [engine]) if history is None else [engine]
    settings: dict[tuple[DecodeConfig, bool], list[int]] = {}
    for place, each in enumerate(inputs):
        settings.setdefault((each.decode, each.attention), []).append(place)
    batches = [
        batch
        for places in settings.values()
        for batch in _batches(engine, [(place, inputs[place]) for place in places], len(copies))
    ]
    left = iter(batches)  # shared: each copy takes the next one

    def run(copy: StepModel) -> list[tuple[Sequence[int], list[list[Hypothesis]]]]:
        return [(batch, _search_batch(copy, [inputs[place] for place in batch], history)) for batch in left]

    if 1 in (len(batches), len(copies)):
        done = run(engine)
    else:
        with ThreadPoolExecutor(len(copies)) as threads:
            done = list(chain.from_iterable(threads.map(run, copies)))
    found = {place: each for batch, several in done for place, each in zip(batch, several, strict=True)}
    return [found[place] for place in range(len(inputs))]


def _search_batch(
    engine: StepModel, inputs: Sequence[SearchInput], history: list[StepRecord] | None
) -> list[list[Hypothesis]]:
    """One search over inputs of the same settings."""
    sources, constraints = [each.source for each in inputs], [each.constraints for each in inputs]
    about: dict[str, Any] = {"attention": inputs[0].attention, "numbers": [each.number for each in inputs]}
    return search(engine, sources, inputs[0].decode, constraints=constraints, history=history, **about)


def _batches(engine: StepModel, inputs: Sequence[tuple[int, SearchInput]], num_copies: int) -> Iterable[Sequence[int]]:
    """The places of inputs of the same settings that are searched together; copies divide a group of like length."""
    places = [place for place, _ in inputs]
    first = inputs[0][1]
    constraints = [each.constraints for _, each in inputs]
    if whole_search(engine, first.decode, constraints, first.attention) is not None:
        return [places]
    num_paths = max(first.decode.beam, first.decode.n_best)
    room = num_copies * max(batch_tokens(engine) // num_paths, 1)
    read = [[*each.source, *given.prefix] for (_, each), given in zip(inputs, constraints, strict=True)]
    groups = batches_for_inference(read, room)
    shares = [group[turn::num_copies] for group in groups for turn in range(num_copies)]
    return [[places[i] for i in share] for share in shares if share]


def batch_tokens(engine: StepModel) -> int:
    device = getattr(engine, "device", None)
    return _BATCH_TOKENS.get(getattr(device, "type", "cpu"), _BATCH_TOKENS["cpu"])
