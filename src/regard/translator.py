"""Texts in, translations out: cut into sentences, batch, search, put together again."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.checkpoint import Manifest
from regard.config import MOST_HYPOTHESES, DecodeConfig, ModelConfig
from regard.decode import Constraints, Hypothesis, StepModel, score, search
from regard.decode.required import contains
from regard.errors import RegardWarning, UsageError
from regard.text.batches import batches_for_inference
from regard.text.sentences import Parts, split
from regard.text.tokenizer import Tokenizer
from regard.text.words import Spellings

_BATCH_TOKENS = {"cpu": 4096, "cuda": 65536}
"""source pieces times hypotheses that are searched together: enough to keep the device busy"""

_WIDENINGS = 2
"""how often the beam is doubled for texts that differ; with few words to choose from there are no more"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to translate a sentence."""

    text: str
    pieces: list[str]
    """without beginning and end"""
    score: float
    """what candidates are ranked by: the log-probability after length and coverage penalty"""
    log_probability: float
    token_log_probabilities: list[float]
    """one for each piece, and one more for the end where the model ended"""
    stop: str
    """end, or length: the candidate was cut at the limit"""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A part of the text that was translated as one, and its candidates, best first."""

    source: str
    candidates: list[Candidate]


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated text, with everything the search knows about it."""

    source: str
    text: str
    alternatives: list[str]
    """the whole text n_best times: of each sentence the best candidate, then the second, and so on;
    fewer where the search finds no more that differ"""
    sentences: list[Sentence]

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asks of every output."""

    prefix: str = ""
    """it begins with this"""
    banned: Sequence[str] = field(default=())
    """it holds none of these words, spelt exactly so, however they are cut into pieces"""
    required: Sequence[str] = field(default=())
    """it holds all of these words"""

    @property
    def of_one_sentence(self) -> bool:
        """Whether they can only be asked of a single sentence."""
        return bool(self.prefix or self.required)


class Translator:
    """An engine and the two tokenizers of one model."""

    def __init__(
        self, engine: StepModel, manifest: Manifest, source: Tokenizer, target: Tokenizer
    ) -> None:
        self.engine = engine
        self.manifest = manifest
        self.source, self.target = source, target

    @property
    def config(self) -> ModelConfig:
        return self.manifest.model

    @property
    def longest(self) -> int:
        """The longest sentence, in pieces, that the model is given at once."""
        if self.config.position == "learned":
            return min(self.manifest.longest, self.config.max_positions - 1)
        return self.manifest.longest

    def translate(
        self,
        texts: Sequence[str],
        decode: DecodeConfig,
        wishes: Wishes = Wishes(),  # noqa: B008 (frozen)
        *,
        sentences: bool = True,
        number: int = 0,
    ) -> list[Translation]:
        """One translation for each text; with sentences=False a text is taken as a single sentence.

        number: of the first sentence, where the texts are a portion of more.
        """
        sentences = sentences and not wishes.of_one_sentence
        parts = [self._split(text, sentences) for text in texts]
        if wishes.of_one_sentence and any(len(each.sentences) > 1 for each in parts):
            raise UsageError(
                f"a text with a prefix or required words must be one sentence of at most {self.longest} "
                "pieces: got a longer one; shorten it or leave them out"
            )
        if num_cut := sum(each.num_cut for each in parts):
            warnings.warn(
                f"{num_cut} sentence(s) of more than {self.longest} pieces, the most the model was "
                "trained for, were cut and translated in parts",
                RegardWarning,
                stacklevel=3,  # who called Model.translate
            )
        flat = [sentence for each in parts for sentence in each.sentences]
        found = iter(self._search(flat, decode, self._constraints(wishes), number))
        return [
            _put_together(text, each, [next(found) for _ in each.sentences])
            for text, each in zip(texts, parts, strict=True)
        ]

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[list[float]]:
        """The log-probability of each piece of each target, its end last."""
        ids = self.source_ids(sources)
        outputs = self.target.encode_batch(targets)
        longer_sides = [max(pair, key=len) for pair in zip(ids, outputs, strict=True)]
        results: dict[int, list[float]] = {}
        for group in batches_for_inference(longer_sides, self._batch_tokens):
            scored = score(
                self.engine,
                [ids[i] for i in group],
                [outputs[i] for i in group],
                bos_id=self.config.bos_id,
                eos_id=self.config.eos_id,
            )
            results.update(zip(group, scored, strict=True))
        return [results[i] for i in range(len(ids))]

    def source_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """What the encoder reads."""
        return [[*ids, self.config.eos_id] for ids in self.source.encode_batch(texts)]

    @property
    def _batch_tokens(self) -> int:
        device = getattr(self.engine, "device", None)
        return _BATCH_TOKENS.get(getattr(device, "type", "cpu"), _BATCH_TOKENS["cpu"])

    def _split(self, text: str, sentences: bool) -> Parts:
        return split(
            text,
            self.manifest.source_language,
            lambda part: len(self.source.encode(part)),
            self.longest,
            sentences=sentences,
        )

    def _constraints(self, wishes: Wishes) -> Constraints | None:
        if not (wishes.prefix or wishes.banned or wishes.required):
            return None
        if not all(word.strip() for word in (*wishes.banned, *wishes.required)):
            raise UsageError(
                "a banned or required word must have letters: got an empty one; leave it out"
            )
        encode = self.target.encode
        prefix = encode(wishes.prefix) if wishes.prefix else []
        required = {word: encode(word) for word in wishes.required}
        banned = {word: self._spellings.of(word) for word in wishes.banned}
        for word, spellings in banned.items():
            for asked, ids in {wishes.prefix: prefix, **required}.items():
                if any(contains(ids, spelling) for spelling in spellings):
                    raise UsageError(
                        f"a word cannot be both banned and asked for: {word!r} is banned and stands in "
                        f"{asked!r}; drop one of the two"
                    )
        return Constraints(
            prefix=prefix,
            banned=[spelling for spellings in banned.values() for spelling in spellings],
            required=list(required.values()),
        )

    @functools.cached_property
    def _spellings(self) -> Spellings:
        return Spellings(self.target)

    def _search(
        self,
        sentences: Sequence[str],
        decode: DecodeConfig,
        constraints: Constraints | None,
        number: int,
    ) -> list[Sentence]:
        """The candidates of each sentence; one that comes again has the same ones, unless they are drawn."""
        if decode.method == "sample":
            numbers = [number + i for i in range(len(sentences))]
            found = self._candidates(sentences, decode, constraints, numbers)
            return list(map(Sentence, sentences, found))
        once = list(dict.fromkeys(sentences))
        known = dict(zip(once, self._different(once, decode, constraints), strict=True))
        return [Sentence(sentence, known[sentence]) for sentence in sentences]

    def _different(
        self, sentences: Sequence[str], decode: DecodeConfig, constraints: Constraints | None
    ) -> list[list[Candidate]]:
        """The n best of each sentence with different texts; where too many are alike the beam widens.

        One text has many spellings in pieces, and each of them is a hypothesis of its own.
        """
        if decode.n_best == 1:
            return self._candidates(sentences, decode, constraints)
        found: dict[str, list[Candidate]] = {}
        missing, beam = list(sentences), decode.beam
        for _ in range(_WIDENINGS + 1):
            wide = dataclasses.replace(decode, beam=beam, n_best=beam)
            for sentence, candidates in zip(
                missing, self._candidates(missing, wide, constraints), strict=True
            ):
                by_text: dict[str, Candidate] = {}
                for candidate in candidates:
                    by_text.setdefault(candidate.text, candidate)
                found[sentence] = list(by_text.values())[: decode.n_best]
            missing = [each for each in missing if len(found[each]) < decode.n_best]
            beam = min(2 * beam, MOST_HYPOTHESES)
        return [found[sentence] for sentence in sentences]

    def _candidates(
        self,
        sentences: Sequence[str],
        decode: DecodeConfig,
        constraints: Constraints | None,
        numbers: Sequence[int] | None = None,
    ) -> list[list[Candidate]]:
        """What the search finds for each sentence, in batches of like length."""
        ids = self.source_ids(sentences)
        found: dict[int, list[Hypothesis]] = {}
        num_paths = max(decode.beam, decode.n_best)
        for group in batches_for_inference(ids, max(self._batch_tokens // num_paths, 1)):
            hypotheses = search(
                self.engine,
                [ids[i] for i in group],
                decode,
                bos_id=self.config.bos_id,
                eos_id=self.config.eos_id,
                pad_id=self.config.pad_id,
                constraints=[constraints] * len(group) if constraints else None,
                numbers=None if numbers is None else [numbers[i] for i in group],
            )
            found.update(zip(group, hypotheses, strict=True))
        return [[self._candidate(each) for each in found[i]] for i in range(len(ids))]

    def _candidate(self, hypothesis: Hypothesis) -> Candidate:
        return Candidate(
            text=self.target.decode(hypothesis.tokens),
            pieces=self.target.pieces(hypothesis.tokens),
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            token_log_probabilities=hypothesis.token_log_probabilities,
            stop=hypothesis.stop,
        )


def _put_together(text: str, parts: Parts, sentences: list[Sentence]) -> Translation:
    if not sentences:
        return Translation(text, text, [text], [])
    alternatives = []
    for place in range(max(len(sentence.candidates) for sentence in sentences)):
        texts = [each.candidates[min(place, len(each.candidates) - 1)].text for each in sentences]
        alternatives.append(parts.join(texts))
    return Translation(text, alternatives[0], alternatives, sentences)
