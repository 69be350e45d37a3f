"""The times of the clock and lengths of time in a French or English text, and what each of them may be.

Neither language says all: 2:30 may be in the afternoon, 1h30 may be how long a film is. What stands around tells most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from regard.text.clock_context import (
    bare_hours,
    halves,
    is_clock,
    is_length,
    range_start,
    spoken_hours,
)
from regard.text.clock_patterns import (
    ALWAYS,
    BLANK,
    BOTH,
    CLOCK,
    LENGTH,
    NUMBERS,
    PATTERNS,
    Kind,
    pattern,
)

Span = tuple[int, int]

HALF_DAY, DAY = 12 * 60, 24 * 60
LANGUAGES = frozenset(PATTERNS)

_BETWEEN = pattern(r"(?:,| ?[-–/] ?| (?:à|et|ou|to|and|or|until) )(?:(?:à|at|and|from) )? ?")
_NAMED = ("noon", "midday", "midnight", "midi", "minuit")


@dataclass(frozen=True, slots=True)
class Time:
    span: Span
    text: str
    kinds: frozenset[Kind]
    """what it may be: a time of the clock, how long something takes, or both"""
    minutes: tuple[int, ...]
    """what it may be worth, first what it says; nothing where no clock shows it"""
    hour: int
    has_half: bool = False
    """it says itself in which half of the day it is"""
    is_guessed: bool = False
    """it may be no time at all, and is one if the other language has it"""

    @property
    def in_digits(self) -> bool:
        return any(map(str.isdigit, self.text))

    @property
    def is_exact(self) -> bool:
        """Whether a translation has to have it; what else is said in words may be said otherwise."""
        is_sure = self.in_digits or self.text.lower().startswith(_NAMED)
        return is_sure and not self.is_guessed


def times(text: str, language: str, *, of_source: bool = False) -> list[Time]:
    """From left to right; a source is taken for what it may mean, a translation for what it says.

    >>> [(each.text, sorted(each.minutes)) for each in times("De 9 à 17h, pendant 1h30.", "fr")]
    [('9', [540]), ('17h', [1020]), ('1h30', [90])]
    """
    matches = sorted(
        (
            (match.start(), -match.end(), place)
            for place, (_, pattern) in enumerate(PATTERNS[language])
            for match in pattern.finditer(text)
        ),
    )
    found: list[Time] = []
    end = 0
    for start, stop, place in matches:
        if start >= end:
            end = -stop
            kinds, pattern = PATTERNS[language][place]
            match = pattern.match(text, start)
            assert match
            found.append(_time(match, kinds, language, of_source=of_source))
    if language == "en":
        found += [each for each in _bare(text) if not any(_meet(each, other) for other in found)]
        found.sort(key=lambda each: each.span)
    joined = _joined(text, found, language)
    if language == "en":
        guessed = _guessed(text, of_source=of_source)
        joined += [each for each in guessed if not any(_meet(each, other) for other in joined)]
        return sorted(joined, key=lambda each: each.span)
    if language == "fr" and not of_source:
        # French writes both alike, so that a translation says nothing wrong.
        return [replace(each, kinds=BOTH) if each.kinds == LENGTH else each for each in joined]
    return joined


def _time(match: re.Match[str], kinds: frozenset[Kind], language: str, *, of_source: bool) -> Time:
    groups = {name: value.lower() for name, value in match.groupdict().items() if value}
    hour, minute = _number(groups.get("hour", "0")), _number(groups.get("minute", "0"))
    total = 60 * hour + minute - _number(groups.get("minus", "0"))
    time = Time(match.span(), match[0], kinds, (total,), hour)
    if kinds == ALWAYS:
        return time
    if groups.get("hour") in _NAMED:
        return replace(time, minutes=(total % DAY,), has_half=True)
    if "half" in groups:
        values = _in_half(hour, total, groups["half"], of_source=of_source)
        return replace(time, kinds=CLOCK, minutes=values, has_half=True)
    if "second" in groups:
        # Hours and minutes alone are another time than one with seconds.
        return replace(time, minutes=(-60 * total - int(groups["second"]),))
    may_be: tuple[int, ...] = (0, 1) if kinds == CLOCK or (language == "en" and of_source) else (0,)
    if kinds == BOTH and language == "en":
        kinds = BOTH if of_source else CLOCK
    elif kinds == BOTH:
        may_be = halves(match.string, hour) if of_source else may_be
        kinds = LENGTH if is_length(match) else CLOCK if of_source and is_clock(match) else BOTH
    if hour > 24 or (hour == 24 and kinds == BOTH):
        kinds = LENGTH
    if "clock" not in kinds:
        return replace(time, kinds=kinds)
    if hour > 12 or match[0][0] == "0":
        may_be = (0,)
    return replace(
        time, kinds=kinds, minutes=tuple((total + half * HALF_DAY) % DAY for half in may_be)
    )


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else NUMBERS[re.sub(BLANK, " ", text)]


def _in_half(hour: int, total: int, half: str, *, of_source: bool) -> tuple[int, ...]:
    """Nothing for 0:45 a.m. or 13:30 p.m. of a translation, which no clock shows; in a source they are understood."""
    if not 0 < hour <= 12:
        is_understood = hour < 24 and (of_source or half not in ("a", "p"))
        return (total,) if is_understood else ()
    is_first = half == "a" or half.endswith(("matin", "morning"))
    if half.endswith("night"):
        is_first = hour < 6 or hour == 12
    return (total % HALF_DAY + (0 if is_first else HALF_DAY),)


def _bare(text: str) -> Iterator[Time]:
    for (start, end), may_be in bare_hours(text):
        hour = int(text[start:end])
        values = tuple((60 * hour) % HALF_DAY + half * HALF_DAY for half in may_be)
        yield Time((start, end), text[start:end], CLOCK, values, hour)


def _guessed(text: str, *, of_source: bool) -> list[Time]:
    halves_of_day = (0, HALF_DAY) if of_source else (0,)
    return [
        Time(
            (start, end),
            text[start:end],
            CLOCK,
            tuple((60 * hour + half) % DAY for half in halves_of_day),
            hour,
            is_guessed=True,
        )
        for (start, end), hour in spoken_hours(text)
    ]


def _joined(text: str, found: list[Time], language: str) -> list[Time]:
    """With the hours that begin a range; what the last says of the half of the day or of its kind holds for all."""
    joined: list[Time] = []
    for each in reversed(found):
        if joined and _BETWEEN.fullmatch(text, each.span[1], joined[0].span[0]):
            if text[each.span[1]] != "," or CLOCK in (each.kinds, joined[0].kinds):
                each, joined[0] = _of_kind(each, joined[0]), _of_kind(joined[0], each)
            each = _like(each, joined[0])
        joined.insert(0, each)
        first = _first(text, each, language)
        if first and not any(_meet(first, other) for other in found):
            joined.insert(0, _like(first, each))
    return joined


def _of_kind(time: Time, other: Time) -> Time:
    """Of two in a range, what is known of one is known of the other; in a list only that it is of the clock."""
    is_known = time.kinds == BOTH and other.kinds in (CLOCK, LENGTH)
    return replace(time, kinds=other.kinds) if is_known else time


def _first(text: str, last: Time, language: str) -> Time | None:
    """A number that begins the range which a time ends."""
    are_lengths = last.kinds == LENGTH
    span = range_start(text, last.span[0], language, of_lengths=are_lengths)
    if not span or last.kinds == ALWAYS:
        return None
    number = int(text[slice(*span)])
    minutes = number if are_lengths and last.hour == 0 else 60 * number
    return Time(span, text[slice(*span)], last.kinds, (minutes,), number)


def _like(first: Time, last: Time) -> Time:
    is_open = "clock" in first.kinds and not first.has_half and 0 < first.hour <= 12
    if not (is_open and last.has_half and last.minutes):
        return first
    # Who writes 10h counts to 24, whatever ends there: de 10h à minuit is most of a day.
    if last.text.lower() in ("midi", "minuit") and not first.text.isdecimal():
        return first
    # From 10 to 11:30 p.m. is in the evening; from 9 to 5 p.m. begins in the morning.
    [end] = last.minutes
    value = first.minutes[0] % HALF_DAY + (HALF_DAY if end >= HALF_DAY else 0)
    value = value if value < end else (value + HALF_DAY) % DAY
    return replace(first, kinds=CLOCK, minutes=(value,), has_half=True)


def _meet(one: Time, other: Time) -> bool:
    return one.span[0] < other.span[1] and other.span[0] < one.span[1]
