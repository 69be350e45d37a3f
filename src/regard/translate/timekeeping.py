"""Times and lengths of time that a translation lost or changed, put right.

A sentence is translated as ever; only where the times of the translation are not worth those of the sentence is
anything done. A time of the clock that stands where another should is corrected in its place; where one is missing, or
how long something takes was read as a time of the clock, the model sees stand-ins that it translates well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from regard.text.as_read import is_shouted
from regard.text.clock import Clock
from regard.text.clock_reading import Time
from regard.text.kept import Kind, Stretch
from regard.translate.keeping import Keeping, Search
from regard.translate.standing_in import View, corrected
from regard.translate.translation import Candidate, Sentence
from regard.translate.wishes import Request

_DASHES = ("-", "–")
_TO = {" à ": " to ", " ou ": " or ", " to ": " à ", " or ": " ou "}
_REST = re.compile(r"[ .,:]?\d|[ .]?[ap]?\.?m\b| ?h\b| ?:", re.IGNORECASE)
"""of a time that was not read to its end, such as 36 in 6 p.m. 36"""


@dataclass(frozen=True, slots=True)
class _Times:
    """The times of a sentence, and what is to stand for them."""

    sentence: str
    given: list[Time]
    clock: Clock

    def are_in(self, text: str) -> bool:
        return self.clock.agree(self.given, text)

    def stretches(self) -> list[Stretch]:
        """Of those that have to come back; the two of 9h-17h are one, and those of 2 to 3 hours."""
        made: list[Stretch] = []
        for each in self.given:
            if not each.is_exact:
                continue
            new = Stretch(each.span, each.text, _kind(each), "", self._written(each))
            between = self.sentence[made[-1].span[1] : each.span[0]] if made else ""
            is_dash = between.strip() in _DASHES
            is_counted = new.kind == "length" and made and made[-1].text.isdecimal()
            if is_counted and (is_dash or between in _TO):
                number = made.pop()
                new = _one(replace(number, written=number.text), _TO.get(between, between), new)
            elif is_dash:
                new = _one(made.pop(), between, new)
            made.append(new)
        return made

    def corrected(self, candidate: Candidate) -> Candidate:
        """With the right times where as many are wrong; a length of time has other words around it than a time."""
        text = candidate.text
        lacking, strange = self.clock.differences(self.given, text)
        are_times = all("clock" in each.kinds for each in (*lacking, *strange))
        are_whole = not any(_REST.match(text, each.span[1]) for each in strange)
        if not (are_times and are_whole) or len(lacking) != len(strange):
            return candidate
        lacking.sort(key=lambda each: each.span)
        pairs = zip(strange, lacking, strict=True)
        return corrected(
            candidate, [(wrong.span, self._written(right, wrong.text)) for wrong, right in pairs]
        )

    def _written(self, time: Time, like: str = "") -> str:
        text = self.clock.written(time, like)
        return text.upper() if is_shouted(self.sentence) else text


class Timekeeping:
    """The sentences of a call with the times in them."""

    def __init__(self, keeping: Keeping, search: Search, request: Request, clock: Clock) -> None:
        self._keeping, self._search = keeping, search
        self._request, self._clock = request, clock

    def sentences(self, sentences: Sequence[str], numbers: Sequence[int]) -> list[Sentence]:
        """What is found for each, with its times."""
        found = self._keeping.sentences(sentences, numbers)
        late: dict[int, _Times] = {}
        for place, sentence in enumerate(sentences):
            times = _Times(sentence, self._clock.given(sentence), self._clock)
            if not times.given or all(times.are_in(each.text) for each in found[place].candidates):
                continue
            mine = times.stretches()
            if len(self._keeping.allowed(sentence, mine)) < len(mine):
                continue
            candidates = [self._corrected(times, each) for each in found[place].candidates]
            right = [each for each in candidates if times.are_in(each.text)]
            if right and right[0] is candidates[0]:
                found[place] = replace(found[place], candidates=right)
            else:
                late[place] = times
        return self._with_stand_ins(found, late, numbers)

    def _corrected(self, times: _Times, candidate: Candidate) -> Candidate:
        made = times.corrected(candidate)
        return made if self._is_allowed(times.sentence, made.text) else candidate

    def _is_allowed(self, sentence: str, text: str) -> bool:
        return self._request.allows(text) and self._keeping.is_kept(sentence, text)

    def _with_stand_ins(
        self, found: list[Sentence], late: Mapping[int, _Times], numbers: Sequence[int]
    ) -> list[Sentence]:
        """What the model makes of the sentences with stand-ins, before those without that are right."""
        if not late:
            return found
        views = {
            place: View(
                times.sentence, self._keeping.with_others(times.sentence, times.stretches())
            )
            for place, times in late.items()
        }
        has_tags = any(view.marks for view in views.values())
        answers = self._search(
            [view.shown for view in views.values()],
            self._request.aligned() if has_tags else self._request,
            [numbers[place] for place in late],
        )
        for (place, times), answer in zip(late.items(), answers, strict=True):
            made = [views[place].written(each) for each in answer.candidates]
            pool = {
                each.text: each if self._request.alignment else replace(each, alignment=None)
                for each in made
                if each and times.are_in(each.text) and self._is_allowed(times.sentence, each.text)
            }
            flags = answer.flags if pool else found[place].flags
            for each in found[place].candidates:
                if times.are_in(each.text):
                    pool.setdefault(each.text, each)
            if pool:
                best = list(pool.values())[: self._request.decode.n_best]
                found[place] = Sentence(times.sentence, best, flags)
        return found


def _one(first: Stretch, between: str, last: Stretch) -> Stretch:
    """A range, from what is written for its ends."""
    return replace(
        last,
        span=(first.span[0], last.span[1]),
        text=f"{first.text}{between}{last.text}",
        written=f"{first.written}{between}{last.written}",
    )


def _kind(time: Time) -> Kind:
    if "always" in time.kinds:
        return "name"
    return "clock" if "clock" in time.kinds else "length"
