"""Texts in, translations out: cut into sentences, batch, search, put together again."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence

from regard.config import MOST_HYPOTHESES, DecodeConfig, ModelConfig
from regard.data.batches import batches_for_inference
from regard.decode import Constraints, Hypothesis, StepModel, score, search, whole_search
from regard.errors import RegardWarning, UsageError
from regard.folder.manifest import Manifest
from regard.text.alphabet import Alphabet
from regard.text.amounts import Money
from regard.text.as_read import AsRead, is_shouted, shouted, with_english_i
from regard.text.clock import Clock
from regard.text.kept import Stretch, stretches
from regard.text.sentences import Parts, split
from regard.text.tokenizer_base import TokenizerBase
from regard.text.word_alignment import align
from regard.text.words import Spellings
from regard.translate.finishing import Finishing
from regard.translate.glossing import Glossing
from regard.translate.keeping import Keeping
from regard.translate.timekeeping import Timekeeping
from regard.translate.translation import (
    Candidate,
    Sentence,
    Translation,
    copied,
    messages,
    put_together,
)
from regard.translate.wishes import Request, Wishes

__all__ = ["Candidate", "Sentence", "Translation", "Translator", "Wishes"]

_BATCH_TOKENS = {"cpu": 4096, "cuda": 65536}
"""source pieces times hypotheses that are searched together: enough to keep the device busy"""

_WIDENINGS = 2
"""how often the beam is doubled for texts that differ; with few words to choose from there are no more"""


class Translator:
    """An engine and the two tokenizers of one model."""

    def __init__(
        self, engine: StepModel, manifest: Manifest, source: TokenizerBase, target: TokenizerBase
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
        alignment: bool = False,
        where: Callable[[int], str] | None = None,
    ) -> list[Translation]:
        """One translation for each text; with sentences=False a text is taken as a single sentence.

        number: of the first sentence, where the texts are a portion of more. where: what a warning calls a text.
        """
        sentences = sentences and not wishes.of_one_sentence
        parts = [self._split(text, sentences) for text in texts]
        if wishes.of_one_sentence and any(len(each.sentences) > 1 for each in parts):
            raise UsageError(
                f"a text with a prefix or required words must be one sentence of at most {self.longest} "
                "pieces: got a longer one; shorten it or leave them out"
            )
        request = Request(
            (self.source, self.target),
            lambda: self._spellings,
            decode,
            wishes,
            alignment=alignment,
        )
        flat = [
            sentence
            for each in parts
            for place, sentence in enumerate(each.sentences)
            if place not in each.endless
        ]
        keeping = Keeping(self._search, self._stretches, request, self._money)
        languages = (self.manifest.source_language, self.manifest.target_language)
        timekeeping = Timekeeping(keeping, self._search, request, Clock(*languages))
        found = iter(timekeeping.sentences(flat, range(number, number + len(flat))))
        finishing = Finishing(timekeeping.sentences, self._stretches, request, languages)
        results = []
        for text, each in zip(texts, parts, strict=True):
            known = [
                copied(sentence) if place in each.endless else finishing.finished(next(found))
                for place, sentence in enumerate(each.sentences)
            ]
            results.append(put_together(text, each, known))
        self._warn(results, sum(each.num_cut for each in parts), where)
        return results

    def _warn(
        self, results: Sequence[Translation], num_cut: int, where: Callable[[int], str] | None
    ) -> None:
        for message in messages(results, num_cut, self.longest, where):
            # Level 4 is who called Model.translate.
            warnings.warn(message, RegardWarning, stacklevel=4)

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[list[float]]:
        """The log-probability of each piece of each target, its end last."""
        ids = self.source_ids(sources)
        outputs = [
            [*self.target.beginning, *output] for output in self.target.encode_batch(targets)
        ]
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
        encoded = self.source.encode_batch([self.as_read(text) for text in texts])
        return [[*self.source.beginning, *ids, self.config.eos_id] for ids in encoded]

    def _source_spans(self, text: str) -> list[tuple[int, int]]:
        """Where each piece that the encoder reads stands in the text as it was given."""
        read = self.as_read.respelt(text)
        # Foreign tokenizers may write a text longer than it is.
        at, last = read.places, len(read.text)
        return [
            (at[min(start, last)], at[min(end, last)])
            for start, end in self.source.spans_in(read.text)
        ]

    @property
    def _batch_tokens(self) -> int:
        device = getattr(self.engine, "device", None)
        return _BATCH_TOKENS.get(getattr(device, "type", "cpu"), _BATCH_TOKENS["cpu"])

    def _split(self, text: str, sentences: bool) -> Parts:
        return split(
            text,
            self.manifest.source_language,
            lambda part: len(self.source.encode(self.as_read(part))),
            self.longest,
            sentences=sentences,
        )

    @functools.cached_property
    def _spellings(self) -> Spellings:
        return Spellings(self.target)

    @functools.cached_property
    def as_read(self) -> AsRead:
        return self.manifest.as_read(self.source)

    @functools.cached_property
    def _alphabet(self) -> Alphabet:
        return Alphabet(self.source)

    @property
    def _money(self) -> Money:
        return Money(self.manifest.source_language, self.manifest.target_language)

    def _stretches(self, sentence: str) -> list[Stretch]:
        return stretches(sentence, self._alphabet, self._money)

    def _search(
        self, sentences: Sequence[str], request: Request, numbers: Sequence[int]
    ) -> list[Sentence]:
        """The candidates of each sentence; one that comes again has the same ones, unless they are drawn."""
        if request.decode.method == "sample":
            found = self._candidates(sentences, request, numbers)
            return [
                Sentence(sentence, candidates, request.flags(sentence, candidates))
                for sentence, candidates in zip(sentences, found, strict=True)
            ]
        once = list(dict.fromkeys(sentences))
        known = dict(zip(once, self._with_terms(once, request), strict=True))
        flags = {each: request.flags(each, candidates) for each, candidates in known.items()}
        looping = [each for each in once if "repetition" in flags[each]]
        if looping and not request.decode.no_repeat_ngram:
            strict = request.without_repetition()
            for each, candidates in zip(looping, self._with_terms(looping, strict), strict=True):
                known[each] = candidates
                flags[each] = sorted({"repetition", *request.flags(each, candidates)})
        return [Sentence(each, known[each], flags[each]) for each in sentences]

    def _with_terms(self, sentences: Sequence[str], request: Request) -> list[list[Candidate]]:
        if request.wishes.glossary is None:
            return self._different(sentences, request)
        language = self.manifest.target_language
        glossing = Glossing(self._different, self.score, self.target, language)
        return glossing.candidates(sentences, request)

    def _different(self, sentences: Sequence[str], request: Request) -> list[list[Candidate]]:
        """The n best of each sentence with different texts; where too many are alike the beam widens.

        One text has many spellings in pieces, and each of them is a hypothesis of its own.
        """
        decode = request.decode
        if decode.n_best == 1:
            return self._candidates(sentences, request)
        found: dict[str, list[Candidate]] = {}
        missing, beam = list(sentences), decode.beam
        for _ in range(_WIDENINGS + 1):
            wide = request.changed(beam=beam, n_best=beam)
            for sentence, candidates in zip(missing, self._candidates(missing, wide), strict=True):
                by_text: dict[str, Candidate] = {}
                for candidate in candidates:
                    by_text.setdefault(candidate.text, candidate)
                found[sentence] = list(by_text.values())[: decode.n_best]
            missing = [each for each in missing if len(found[each]) < decode.n_best]
            beam = min(2 * beam, MOST_HYPOTHESES)
        return [found[sentence] for sentence in sentences]

    def _candidates(
        self, sentences: Sequence[str], request: Request, numbers: Sequence[int] | None = None
    ) -> list[list[Candidate]]:
        """What the search finds for each sentence, in batches of like length."""
        ids = self.source_ids(sentences)
        found: dict[int, list[Hypothesis]] = {}
        decode = request.decode
        wanted = [request.constraints(each) for each in sentences]
        constraints = [each or Constraints() for each in wanted] if any(wanted) else None
        num_paths = max(decode.beam, decode.n_best)
        groups: Iterable[Sequence[int]]
        if whole_search(self.engine, decode, constraints, request.alignment) is not None:
            groups = [range(len(ids))]
        else:
            groups = batches_for_inference(ids, max(self._batch_tokens // num_paths, 1))
        for group in groups:
            hypotheses = search(
                self.engine,
                [ids[i] for i in group],
                decode,
                bos_id=self.config.bos_id,
                eos_id=self.config.eos_id,
                pad_id=self.config.pad_id,
                constraints=None if constraints is None else [constraints[i] for i in group],
                numbers=None if numbers is None else [numbers[i] for i in group],
                attention=request.alignment,
            )
            found.update(zip(group, hypotheses, strict=True))
        return [
            [
                request.with_capital(sentences[i], self._candidate(sentences[i], each))
                for each in found[i]
            ]
            for i in range(len(ids))
        ]

    def _candidate(self, source: str, hypothesis: Hypothesis) -> Candidate:
        text, links = self.target.decode(hypothesis.tokens), None
        # What is written in small letters is translated so, but for this word.
        if self.manifest.target_language == "en" and with_english_i(source) == source:
            text = with_english_i(text)
        if hypothesis.attention is not None:
            links = align(
                hypothesis.attention,
                source,
                [(0, 0)] * len(self.source.beginning) + self._source_spans(source),
                text,
                self.target.spans(hypothesis.tokens),
            )
        return Candidate(
            text=shouted(text) if is_shouted(source) else text,
            tokens=self.target.token_strings(hypothesis.tokens),
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            token_log_probabilities=hypothesis.token_log_probabilities,
            stop=hypothesis.stop,
            alignment=links,
        )
