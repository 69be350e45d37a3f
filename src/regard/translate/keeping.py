"""What must come back letter for letter, in a translation that stays a sentence.

The model sees a sentence with stand-ins that it copies: a letter and a number for a name, a number for a number; tags
are left out and placed by what it looked at. Numbers that it mostly copies by itself it sees first as they are, since
it knows best what they are. What fails in one way is tried in the other; if both fail, the words between are
translated on their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from regard.text.amounts import Money
from regard.text.as_read import is_shouted
from regard.text.kept import OFTEN_COPIED, WHOLE, Stretch, outside
from regard.text.word_alignment import Link, Span
from regard.translate.glossary import where
from regard.translate.standing_in import View
from regard.translate.translation import Candidate, Sentence
from regard.translate.wishes import Request

Search = Callable[[Sequence[str], Request, Sequence[int]], list[Sentence]]
"""from sentences and the numbers of their draws to what is found for them"""
Find = Callable[[str], list[Stretch]]

_ENDS = ".!?…"


@dataclass(frozen=True, slots=True)
class _Job:
    """A sentence with something to keep, and the number of its draws."""

    sentence: str
    number: int
    held: list[Stretch]
    money: Money

    @property
    def is_all_kept(self) -> bool:
        between = outside(self.sentence, self.held)
        return not any(map(_has_word, between)) and self.held[0].kind != "amount"

    @property
    def is_often_copied(self) -> bool:
        """Whether the model is to see the sentence as it is first."""
        return all(each.kind in OFTEN_COPIED for each in self.held) and not self.is_shouted

    @property
    def is_shouted(self) -> bool:
        """Whether only what is kept has small letters; a sentence in capitals is read in small ones."""
        return is_shouted("".join(outside(self.sentence, self.held)))

    def without_words(self) -> _Job:
        return replace(self, held=[each for each in self.held if each.kind != "word"])

    def is_held_by(self, text: str) -> bool:
        """Whether a translation has every stretch as often as the sentence, and tags in their order."""
        exact = [each for each in self.held if each.kind != "amount"]
        if any(each.count_in(text) != each.count_in(self.sentence) for each in exact):
            return False
        if not self.has_amounts_in(text):
            return False
        places = [text.index(tag) for tag in {e.text: 0 for e in self.held if e.kind == "tag"}]
        return places == sorted(places)

    def has_amounts_in(self, text: str) -> bool:
        if all(each.kind != "amount" for each in self.held):
            return True
        return self.money.agree(self.sentence, text)


class Keeping:
    """The sentences of a call, and what of them is kept."""

    def __init__(
        self,
        search: Search,
        find: Find,
        request: Request,
        money: Money = Money(),  # noqa: B008 (frozen)
    ) -> None:
        self._search, self._find, self._request, self._money = search, find, request, money

    def sentences(self, sentences: Sequence[str], numbers: Sequence[int]) -> list[Sentence]:
        """What the search finds for each, and what it finds with other means where that lacks something."""
        jobs = {
            place: _Job(sentence, number, held, self._money)
            for place, (sentence, number) in enumerate(zip(sentences, numbers, strict=True))
            if (held := self._stretches(sentence))
        }
        if not jobs:
            return self._search(sentences, self._request, numbers)
        found: dict[int, Sentence] = {}
        direct = []
        for place, sentence in enumerate(sentences):
            job = jobs.get(place)
            if job and job.is_all_kept and not self._request.wishes.of_one_sentence:
                found[place] = _as_it_is(sentence)
            elif job is None or job.is_often_copied:
                direct.append(place)
        plain = self._search(
            [sentences[place] for place in direct], self._request, [numbers[i] for i in direct]
        )
        found |= dict(zip(direct, plain, strict=True))
        lacking = {
            place: job
            for place, job in jobs.items()
            if place not in found
            or not all(job.is_held_by(each.text) for each in found[place].candidates)
        }
        found |= self._mended(lacking, found)
        return [found[place] for place in range(len(sentences))]

    def is_kept(self, sentence: str, text: str) -> bool:
        """Whether a translation has all that is kept of a sentence."""
        held = self._stretches(sentence)
        return not held or _Job(sentence, 0, held, self._money).is_held_by(text)

    def with_others(self, sentence: str, others: Sequence[Stretch]) -> list[Stretch]:
        """What is kept of a sentence and, where nothing of it stands, these."""
        held = self._stretches(sentence)
        free = [each for each in others if not any(_meet(each.span, one.span) for one in held)]
        return sorted([*held, *self.allowed(sentence, free)], key=lambda each: each.span)

    def _stretches(self, sentence: str) -> list[Stretch]:
        return self.allowed(sentence, self._find(sentence))

    def allowed(self, sentence: str, found: list[Stretch]) -> list[Stretch]:
        """Those that neither a term of the glossary nor a ban has a say in."""
        if not found:
            return found
        terms = [place.span for place in self._request.places(sentence)]
        return [
            each
            for each in found
            if not any(_has_a_say(term, each) for term in terms)
            and not any(where(word, each.text) for word in self._request.wishes.banned)
        ]

    def _mended(
        self, jobs: Mapping[int, _Job], plain: Mapping[int, Sentence]
    ) -> dict[int, Sentence]:
        """The sentences with stand-ins; after what the model found without them, where its best lacks nothing."""
        views = {place: View(job.sentence, job.held) for place, job in jobs.items()}
        has_tags = any(view.marks for view in views.values())
        answers = self._search(
            [view.shown for view in views.values()],
            self._request.aligned() if has_tags else self._request,
            [job.number for job in jobs.values()],
        )
        found: dict[int, Sentence] = {}
        for (place, job), answer in zip(jobs.items(), answers, strict=True):
            first = plain.get(place)
            pool: dict[str, Candidate] = {}
            flags = answer.flags
            if first and job.is_held_by(first.candidates[0].text):
                flags = first.flags
                pool = {each.text: each for each in first.candidates if job.is_held_by(each.text)}
            for candidate in answer.candidates:
                made = views[place].written(candidate)
                if made is None or not job.has_amounts_in(made.text):
                    continue
                if self._request.allows(made.text):
                    pool.setdefault(made.text, self._shown(made))
            if pool:
                best = list(pool.values())[: self._request.decode.n_best]
                found[place] = Sentence(job.sentence, best, flags)
        return found | self._without_stand_ins(
            {place: job for place, job in jobs.items() if place not in found}, plain
        )

    def _without_stand_ins(
        self, jobs: Mapping[int, _Job], plain: Mapping[int, Sentence]
    ) -> dict[int, Sentence]:
        """The sentences as they are, if that was not tried before, and else in parts."""
        missing = {place: job for place, job in jobs.items() if place not in plain}
        searched = self._search(
            [job.sentence for job in missing.values()],
            self._request,
            [job.number for job in missing.values()],
        )
        known = {**plain, **dict(zip(missing, searched, strict=True))}
        found: dict[int, Sentence] = {}
        for place, job in jobs.items():
            # A word is not worth cutting a sentence for.
            strict = job.without_words()
            kept = [each for each in known[place].candidates if strict.is_held_by(each.text)]
            if kept:
                found[place] = replace(known[place], candidates=kept)
        rest = {place: job for place, job in jobs.items() if place not in found}
        if not self._request.wishes.of_one_sentence:
            return found | self._in_parts(rest)
        return found | {
            place: replace(known[place], flags=[*known[place].flags, "lost"]) for place in rest
        }

    def _in_parts(self, jobs: Mapping[int, _Job]) -> dict[int, Sentence]:
        """Only what stands between is translated."""
        parts = {
            part: job.number
            for job in jobs.values()
            for between in outside(job.sentence, job.held)
            if _has_word(part := between.strip())
        }
        answers = self._search([*parts], self._request.aligned(), [*parts.values()])
        known = {answer.source: answer.candidates[0] for answer in answers}
        found = {}
        for place, job in jobs.items():
            candidate = self._shown(_joined(job, known))
            found[place] = Sentence(job.sentence, [candidate], ["parts"])
        return found

    def _shown(self, candidate: Candidate) -> Candidate:
        return candidate if self._request.alignment else replace(candidate, alignment=None)


def _joined(job: _Job, known: Mapping[str, Candidate]) -> Candidate:
    """The translations of the parts with what is kept between them."""
    text = ""
    pieces: list[str] = []
    probabilities: list[float] = []
    links: list[Link] = []
    score = total = 0.0
    start = 0
    for place, between in enumerate(outside(job.sentence, job.held)):
        part = between.strip()
        before = len(between) - len(between.lstrip())
        answer = known.get(part)
        written = part if answer is None else _as_a_part(answer.text, part)
        text += between[:before]
        if answer is not None:
            links += [
                Link(
                    _shifted(link.source, start + before),
                    _shifted(link.target, len(text)),
                    link.weight,
                )
                for link in answer.alignment or []
                if link.target[1] <= len(written)
            ]
            pieces += answer.tokens
            probabilities += answer.token_log_probabilities[: len(answer.tokens)]
            score, total = score + answer.score, total + answer.log_probability
        text += written + between[before + len(part) :]
        if place < len(job.held):
            stretch = job.held[place]
            links.append(Link(stretch.span, (len(text), len(text) + len(stretch.written)), 1.0))
            text += stretch.written
            pieces.append(stretch.written)
            probabilities.append(0.0)
            start = stretch.span[1]
    return Candidate(text, pieces, score, total, probabilities, "end", links)


def _as_a_part(text: str, part: str) -> str:
    """A translation that begins and ends as a part of a sentence does, not as a sentence."""
    if part[0].islower() and text[:1].isupper() and text[1:2].islower():
        text = text[0].lower() + text[1:]
    return text if part[-1] in _ENDS else text.rstrip(_ENDS)


def _as_it_is(sentence: str) -> Sentence:
    whole = (0, len(sentence))
    return Sentence(
        sentence,
        [Candidate(sentence, [sentence], 0.0, 0.0, [0.0], "end", [Link(whole, whole, 1.0)])],
    )


def _has_a_say(term: Span, stretch: Stretch) -> bool:
    """Whether a term meets a stretch; a word inside an address or a placeholder is none of the text's."""
    start, end = stretch.span
    if stretch.kind in WHOLE and start <= term[0] and term[1] <= end:
        return term == stretch.span
    return _meet(term, stretch.span)


def _meet(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _has_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _shifted(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by
