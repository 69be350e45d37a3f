"""One sentence after another: normalise, protect, tokenize, search, detokenize, restore.

A sentence is searched once. It is searched again where its translation repeated itself (without repetition), or
lacks a stand-in or a term of the glossary (with these as required words).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.config import MAX_HYPOTHESES, DecodeConfig
from regard.decode import Hypothesis
from regard.documents.placement import overlap
from regard.text import is_looping
from regard.text.normalise import Normalised
from regard.text.protected import ProtectedSpan, find_protected
from regard.text.sentences import has_word
from regard.text.words import Link, align
from regard.translate.evaluate import by_risk
from regard.translate.glossary import TermPlace, lacks, occurrences, replaced_words
from regard.translate.protect import MaskedSentence, as_a_part, mask
from regard.translate.search import ConstraintBuilder, SearchInput, TranslateOptions, search_in_batches
from regard.translate.translation import Candidate, Sentence, copied, shifted

if TYPE_CHECKING:
    from regard.translate.pipeline import Translator

_WIDENINGS = 2  # times the beam is doubled to find candidates with different texts
_NO_REPEAT = 3  # tokens in a row that may not come twice after an output repeated itself


class Prepared(NamedTuple):
    """A sentence before its search."""

    given: str
    normalised: str
    masked: MaskedSentence
    terms: list[TermPlace]
    number: int  # place among the sentences of a call, for sampling


class _SearchOutput(NamedTuple):
    """What a search found for a sentence."""

    searched: SearchInput
    candidates: list[Candidate]


class SentenceTranslator:
    """The sentences of one call, through one model."""

    def __init__(self, translator: Translator, decode: DecodeConfig, options: TranslateOptions) -> None:
        self._engine, self._normaliser, self._history = translator.engine, translator.normaliser, translator.history
        self._source, self._target = translator.source, translator.target
        self._eos_id = translator.config.eos_id
        self._decode, self._options, self._n_best = decode, options, decode.n_best
        if options.mbr:
            self._decode = replace(decode, method="sample", n_best=options.samples)
        self._builder = ConstraintBuilder(self._target, translator.spellings, decode, options)

    def translate(self, given: Sequence[tuple[int, str]]) -> list[Sentence]:
        """One translation for each numbered sentence; one that comes again has the same, unless it is sampled."""
        first = self._options.number
        if self._decode.method == "sample":
            return self._sentences([self._prepare(each, first + number) for number, each in given])
        once = [self._prepare(each, first) for each in dict.fromkeys(each for _, each in given)]
        known = {each.source: each for each in self._sentences(once)}
        return [known[each] for _, each in given]

    def _prepare(self, given: str, number: int) -> Prepared:
        """Normalise and protect. Terms of the glossary and words of the options take precedence over protected spans."""
        options = self._options
        terms = options.glossary.places_in(given) if options.glossary else []
        if options.plain:
            return Prepared(given, given, mask(given, Normalised.of(given), []), terms, number)
        spans = [
            each
            for each in find_protected(given, self._normaliser.knows)
            if not any(_takes_precedence(term, each) for term in terms)
            and not any(occurrences(word, each.text) for word in options.banned)
            and not any(each.text in asked for asked in (options.prefix, *options.required))
        ]
        normalised = self._normaliser.normalise(given, [each.span for each in spans])
        return Prepared(given, normalised.text, mask(given, normalised, spans), terms, number)

    def _sentences(self, prepared: Sequence[Prepared]) -> list[Sentence]:
        """Search, and search again where something is wrong."""
        found = self._search(prepared, self._inputs(prepared))
        looping = self._looping(prepared, found)
        found |= self._search(prepared, looping)
        found |= self._search(prepared, self._lacking(prepared, found))
        masked = {place: prepared[place].masked for place in found}
        whole = {i: [one for one in each.candidates if not masked[i].lacks(one.written)] for i, each in found.items()}
        broken = [] if self._options.single_sentence else [place for place, some in whole.items() if not some]
        parts = dict(zip(broken, self._parts([prepared[place] for place in broken]), strict=True))
        results = []
        for place, each in enumerate(prepared):
            if place not in found:
                results.append(copied(each.given, each.masked.text))
                continue
            flags = ["repetition"] * (place in looping)
            candidates = whole[place]
            if place in parts:
                candidates, flags = [_joined(each, parts[place])], [*flags, "parts"]
            elif not candidates:
                candidates, flags = found[place].candidates, [*flags, "lost"]
            sentence = self._finished(each, found[place].searched, candidates, flags)
            results.append(replace(sentence, search=None, parts=parts[place]) if place in parts else sentence)
        return results

    def _inputs(self, prepared: Sequence[Prepared]) -> dict[int, SearchInput]:
        """The searches of all sentences with words."""
        single = self._options.single_sentence
        has_words = [single or each.masked.has_words or not each.masked.spans for each in prepared]
        searched = {place: each for place, each in enumerate(prepared) if has_words[place]}
        encoded = self._source.encode_batch([each.masked.text for each in searched.values()])
        return {
            place: SearchInput(
                [*self._source.beginning, *ids, self._eos_id],
                self._decode,
                self._builder.default,
                each.number,
                attention=self._options.alignment or bool(each.masked.marks or each.terms),
            )
            for (place, each), ids in zip(searched.items(), encoded, strict=True)
        }

    def _looping(self, prepared: Sequence[Prepared], found: Mapping[int, _SearchOutput]) -> dict[int, SearchInput]:
        """The same searches without repetition, for translations that repeated themselves."""
        if self._decode.no_repeat_ngram or self._decode.method == "sample":
            return {}
        strict = replace(self._decode, no_repeat_ngram=_NO_REPEAT)
        return {
            place: replace(each.searched, decode=strict)
            for place, each in found.items()
            if is_looping(each.candidates[0].token_ids) and not is_looping(self._source.encode(prepared[place].given))
        }

    def _lacking(self, prepared: Sequence[Prepared], found: Mapping[int, _SearchOutput]) -> dict[int, SearchInput]:
        """The same searches with required words, for translations that lack stand-ins or terms."""
        if self._decode.method != "beam":
            return {}
        inputs: dict[int, SearchInput] = {}
        for place, each in found.items():
            masked, terms = prepared[place].masked, prepared[place].terms
            free = each.candidates[0]
            lacks_terms = lacks(free.text, terms)
            if not lacks_terms and not all(masked.lacks(c.written) for c in each.candidates):
                continue
            required = [stand_in.text for stand_in in masked.stand_ins]
            banned: list[str] = []
            if lacks_terms:
                required += [term.target for term in terms]
                banned = replaced_words(free.text, free.alignment or [], terms)
            constraints = self._builder.build(required, banned)
            if constraints.fits(self._decode.max_length):
                inputs[place] = replace(each.searched, constraints=constraints)
        return inputs

    def _search(self, prepared: Sequence[Prepared], inputs: Mapping[int, SearchInput]) -> dict[int, _SearchOutput]:
        """The n best of each input with different texts; where too many are alike the beam widens.

        One text can be written in different tokens, and each way is a hypothesis of its own.
        """
        n_best, beam = self._decode.n_best, self._decode.beam
        is_plain = n_best == 1 or self._decode.method == "sample"
        found: dict[int, _SearchOutput] = {}
        missing = dict(inputs)
        for _ in range(1 if is_plain else _WIDENINGS + 1):
            if not is_plain:
                wider = {place: replace(each.decode, beam=beam, n_best=beam) for place, each in missing.items()}
                missing = {place: replace(each, decode=wider[place]) for place, each in missing.items()}
            if self._history and missing:
                self._history.clear()
            hypotheses = search_in_batches(self._engine, list(missing.values()), self._history)
            texts = iter(self._target.decode_batch([one.tokens for several in hypotheses for one in several]))
            for (place, each), several in zip(missing.items(), hypotheses, strict=True):
                candidates = [self._candidate(prepared[place], one, next(texts)) for one in several]
                if not is_plain:
                    by_text: dict[str, Candidate] = {}
                    for one in candidates:
                        by_text.setdefault(" ".join(one.text.split()), one)
                    candidates = list(by_text.values())[:n_best]
                found[place] = _SearchOutput(each, candidates)
            missing = {i: each for i, each in missing.items() if len(found[i].candidates) < n_best}
            beam = min(2 * beam, MAX_HYPOTHESES)
        return found

    def _candidate(self, each: Prepared, hypothesis: Hypothesis, written: str) -> Candidate:
        """Restore what stands in the written text."""
        text, masked = written, each.masked
        links = None
        if hypothesis.attention is not None:
            last = len(masked.text)
            # Tokenizers of other makers may write a text longer than it is.
            spans = [(min(a, last), min(b, last)) for a, b in self._source.spans_in(masked.text)]
            spans = [(0, 0)] * len(self._source.beginning) + spans
            links = align(hypothesis.attention, masked.text, spans, written, self._target.spans(hypothesis.tokens))
        if masked.spans or masked.in_capitals:
            restored = masked.restore(written, links or [])
            text = restored.text
            links = links and [Link(link.source, restored.moved(link.target), link.weight) for link in links]
        if each.terms and each.given[:1].isupper() and text[:1].islower():
            # A term in small letters may come first.
            text = text[0].upper() + text[1:]
        starts, ends = masked.starts, masked.ends
        links = links and [replace(each, source=(starts[each.source[0]], ends[each.source[1] - 1])) for each in links]
        return Candidate(
            text=text,
            written=written,
            tokens=self._target.token_strings(hypothesis.tokens),
            token_ids=hypothesis.tokens,
            score=hypothesis.score,
            log_probability=hypothesis.log_probability,
            token_log_probabilities=hypothesis.token_log_probabilities,
            stop=hypothesis.stop,
            edited=text != written,
            alignment=links,
        )

    def _finished(
        self, each: Prepared, searched: SearchInput, candidates: list[Candidate], flags: list[str]
    ) -> Sentence:
        if self._options.mbr:
            order = by_risk([one.text for one in candidates], self._options.mbr)
            candidates = [candidates[place] for place in order[: self._n_best]]
        best = candidates[0]
        if best.stop == "length" and not self._decode.max_length:
            flags = [*flags, "length"]
        if lacks(best.text, each.terms):
            flags = [*flags, "glossary"]
        if not self._options.alignment:
            candidates = [one if one.alignment is None else replace(one, alignment=None) for one in candidates]
        stages: dict[str, Any] = {"normalised": each.normalised, "protected": each.masked.text}
        return Sentence(each.given, candidates, flags, **stages, search=searched)

    def _parts(self, several: Sequence[Prepared]) -> list[list[Sentence]]:
        """Translations of what stands between the protected spans of each sentence."""
        texts = [[text.strip() for text in each.masked.outside() if has_word(text)] for each in several]
        parts = [[self._prepare(text, each.number) for text in some] for each, some in zip(several, texts, strict=True)]
        flat = [part for some in parts for part in some]
        translated = iter(self._sentences(flat) if flat else ())
        return [[next(translated) for _ in some] for some in parts]


def _joined(each: Prepared, parts: Sequence[Sentence]) -> Candidate:
    """The translated parts, joined around the protected spans of a sentence."""
    made = [part.candidates[0] for part in parts]
    left, text = iter(made), ""
    links: list[Link] = []
    spans = each.masked.spans
    for place, between in enumerate(each.masked.outside()):
        part = written = between.strip()
        before = len(between) - len(between.lstrip())
        text += between[:before]
        if has_word(part):
            best = next(left)
            written = as_a_part(best.text, part)
            start = before + (spans[place - 1].span[1] if place else 0)
            links += [
                Link(shifted(a.source, start), shifted(a.target, len(text)), a.weight)
                for a in best.alignment or []
                if a.target[1] <= len(written)
            ]
        text += written + between[before + len(part) :]
        if place < len(spans):
            end = len(text) + len(spans[place].text)
            links.append(Link(spans[place].span, (len(text), end), 1.0))
            text += spans[place].text
    return Candidate(
        text=text,
        written=" ".join(one.written for one in made),
        tokens=[token for one in made for token in one.tokens],
        token_ids=[token for one in made for token in one.token_ids],
        score=sum(one.score for one in made) / max(len(made), 1),
        log_probability=sum(one.log_probability for one in made),
        token_log_probabilities=[value for one in made for value in one.token_log_probabilities],
        stop="end",
        edited=True,
        alignment=links,
    )


def _takes_precedence(term: TermPlace, span: ProtectedSpan) -> bool:
    """Whether a term takes precedence over a protected span: it overlaps the span and is not a word inside of it."""
    is_inside = span.span[0] <= term.span[0] and term.span[1] <= span.span[1]
    return term.span == span.span if is_inside else overlap(term.span, span.span)
