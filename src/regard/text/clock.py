"""Times and lengths of time: whether a translation has those of its source, and how the other language writes them.

A model mostly writes them well, but loses one of several, takes the morning for the evening, or how long a film is for
when it begins. What they are worth tells; their digits alone do not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.text.clock_reading import DAY, HALF_DAY, LANGUAGES, Time, times

_TIGHT = re.compile(r"\d(?:h\d?|[ \u00a0]?[ap]m$)", re.IGNORECASE)
_LEFT_OVER = re.compile(r" ?[apAP]\.?[mM]\b|[ .]?[mM]\b(?!\.)|\. (?=[a-zà-ÿ]|[A-Z]{2})| ?h ?\d")
"""in French: of p.m., which it has not, its stop inside a sentence, or minutes that come twice"""
_OTHER_HALF = re.compile(r"[ \u00a0]?[ap]\.?m\b", re.IGNORECASE)
_SEVEN = re.compile("7|sept|seven", re.IGNORECASE)
_IN_WORDS = re.compile(r"heure|hour|hr|minute", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clock:
    """Times between two languages; of others than French and English nothing is known."""

    source: str = ""
    target: str = ""

    @property
    def _is_known(self) -> bool:
        return {self.source[:2], self.target[:2]} == LANGUAGES

    def given(self, sentence: str) -> list[Time]:
        """The times of a source; none where not one of them is in digits."""
        if not self._is_known or not any(map(str.isdigit, sentence)):
            return []
        found = [each for each in times(sentence, self.source[:2], of_source=True) if each.minutes]
        # 3 h P.M. is not as French tells the time, and what it is worth is not what 3 h is.
        is_mixed = self.source[:2] == "fr" and any(
            _OTHER_HALF.match(sentence, each.span[1]) for each in found
        )
        is_told = any(each.in_digits and not each.is_guessed for each in found)
        return found if is_told and not is_mixed else []

    def differences(self, given: Sequence[Time], translation: str) -> tuple[list[Time], list[Time]]:
        """What of the source a translation lacks; and what it has that is not of the source.

        >>> clock = Clock("fr", "en")
        >>> lacking, strange = clock.differences(clock.given("De 8h à 13h."), "From 8 a.m. to 3 p.m.")
        >>> [each.text for each in lacking], [each.text for each in strange]
        (['13h'], ['3 p.m'])
        """
        left = dict(enumerate(times(translation, self.target[:2])))
        lacking: list[Time] = []
        spoken = 0
        for place, each in sorted(enumerate(given), key=lambda pair: not pair[1].is_exact):
            matches = [number for number, other in left.items() if _is_same(each, other)]
            if matches:
                # Of two that are the same time, that which comes in its turn.
                del left[min(matches, key=lambda number: abs(number - place))]
            elif each.is_exact:
                lacking.append(each)
            else:
                spoken += 1
        # Half an hour in words may have become 30 minutes.
        strange = [
            each for each in left.values() if not each.is_guessed and (each.in_digits or lacking)
        ]
        return lacking, strange if lacking else strange[spoken:]

    def agree(self, given: Sequence[Time], translation: str) -> bool:
        if self.target[:2] == "fr" and any(
            _LEFT_OVER.match(translation, each.span[1]) for each in times(translation, "fr")
        ):
            return False
        return self.differences(given, translation) == ([], [])

    def written(self, time: Time, like: str = "") -> str:
        """A time of the source as the other language writes it.

        like: how a model wrote another one, whose manner is taken over.

        >>> fr, en = Clock("fr", "en"), Clock("en", "fr")
        >>> [fr.written(time) for time in fr.given("De 12h à 17h45, 1 h 30 de retard, 24h/24")]
        ['noon', '5:45 p.m.', '1 hour and 30 minutes', '24 hours a day']
        >>> [en.written(time) for time in en.given("From 8:30 to 5 p.m., for 2 hours, 24/7")]
        ['8 h 30', '17 h', '2 heures', '24 heures sur 24, 7 jours sur 7']
        """
        if "always" in time.kinds:
            return self._always(time)
        if time.minutes[0] < 0 and self.target[:2] == "en":
            return ":".join(re.findall(r"\d+", time.text))
        if time.minutes[0] < 0 or (time.kinds == {"length"} and self._is_plain(time)):
            return time.text
        if time.kinds == {"length"}:
            return self._length(time)
        if self.target[:2] == "fr":
            return _french(time, is_tight=bool(_TIGHT.search(like or time.text)))
        text = _english(time)
        return text.replace(".m.", "m") if re.search(r"[ap]m$", like) else text

    def _is_plain(self, time: Time) -> bool:
        """Whether both languages write it so: 2 h 15 min, 45 min."""
        is_short = not _IN_WORDS.search(time.text)
        return is_short and (self.target[:2] == "fr" or "min" in time.text)

    def _always(self, time: Time) -> str:
        all_day, all_week = "24" in time.text, bool(_SEVEN.search(time.text))
        if self.target[:2] == "fr":
            return ", ".join(["24 heures sur 24"] * all_day + ["7 jours sur 7"] * all_week)
        return ("24/7" if all_day else "7 days a week") if all_week else "24 hours a day"

    def _length(self, time: Time) -> str:
        is_french = self.target[:2] == "fr"
        hour, joint = ("heure", " et ") if is_french else ("hour", " and ")
        # 90 minutes stay such.
        hours, minutes = divmod(time.minutes[0], 60) if time.hour else (0, time.minutes[0])
        counted = [(hours, hour), (minutes, "minute")]
        return joint.join(
            f"{number} {name}{'s' * (number > 1)}" for number, name in counted if number
        )


def _french(time: Time, *, is_tight: bool) -> str:
    hour, minute = divmod(time.minutes[0] % DAY, 60)
    if time.minutes[0] % DAY == 0:
        return "minuit"
    if not time.in_digits:
        return "midi"
    if "clock" in time.text.lower():
        return f"{hour} heure{'s' * (hour > 1)}"
    has_minute = minute or re.search(r"[:.]\d", time.text)
    written = f"{hour} h {minute:02}" if has_minute else f"{hour} h"
    return written.replace(" ", "") if is_tight else written


def _english(time: Time) -> str:
    value = time.minutes[0] % DAY
    hour, minute = divmod(value, 60)
    if ":" in time.text:
        return time.text
    shown = (hour - 1) % 12 + 1
    if time.text.isdecimal() and not time.has_half and 0 < time.hour <= 12:
        return time.text
    # Who says 6 heures may mean the evening; on a timetable 6h is in the morning.
    is_open = "heure" in time.text.lower() and not time.has_half and 0 < time.hour < 12
    if is_open:
        return f"{shown}:{minute:02}" if minute else f"{shown} o'clock"
    if len(time.minutes) > 1:
        # Before noon or after it: whoever wrote it knows.
        return f"{hour}:{minute:02}"
    if value % HALF_DAY == 0:
        return "noon" if value else "midnight"
    half = "p.m." if value >= HALF_DAY else "a.m."
    has_minute = minute or re.search(r"h ?00", time.text)
    return f"{shown}:{minute:02} {half}" if has_minute else f"{shown} {half}"


def _is_same(source: Time, target: Time) -> bool:
    if source.text == target.text and not source.has_half:
        return True
    if "always" in source.kinds & target.kinds:
        return True
    return bool(source.kinds & target.kinds) and not set(source.minutes).isdisjoint(target.minutes)
