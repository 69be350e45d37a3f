"""Clock times and dates in French and in English, those that belong together in a pair."""

from __future__ import annotations

from collections.abc import Iterator

from regard.compare.number_words import english_number as english
from regard.compare.number_words import english_ordinal
from regard.compare.number_words import french_number as french
from regard.corpora.tables import Value

MONTHS: list[Value] = [
    ("janvier", "January"),
    ("février", "February"),
    ("mars", "March"),
    ("avril", "April"),
    ("mai", "May"),
    ("juin", "June"),
    ("juillet", "July"),
    ("août", "August"),
    ("septembre", "September"),
    ("octobre", "October"),
    ("novembre", "November"),
    ("décembre", "December"),
]
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def french_time(hour: int, minute: int) -> str:
    """On a clock of twelve hours, 0 being midnight and 12 noon.

    >>> french_time(1, 30), french_time(12, 30), french_time(6, 45), french_time(11, 50), french_time(8, 0)
    ('une heure et demie', 'midi et demi', 'sept heures moins le quart', 'midi moins dix', 'huit heures')
    """
    before = minute > 30
    named = hour + before
    if named in (0, 12):
        name = "midi" if named else "minuit"
    else:
        name = f"{french(named, feminine=True)} heure{'s' if named > 1 else ''}"
    if minute in (0, 15, 30, 45):
        half = "demi" if named in (0, 12) else "demie"
        return name + {0: "", 15: " et quart", 30: f" et {half}", 45: " moins le quart"}[minute]
    return f"{name} moins {french(60 - minute)}" if before else f"{name} {french(minute)}"


def english_time(hour: int, minute: int) -> str:
    """
    >>> english_time(1, 30), english_time(12, 30), english_time(6, 45), english_time(11, 50), english_time(8, 0)
    ('half past one', 'half past twelve', 'a quarter to seven', 'ten to noon', "eight o'clock")
    """
    before = minute > 30
    named = hour + before
    name = english(named) if named else "midnight"
    if named == 12 and (before or not minute):
        name = "noon"
    if not minute:
        return name if named in (0, 12) else f"{name} o'clock"
    minutes = 60 - minute if before else minute
    spoken = {15: "a quarter", 30: "half"}.get(minutes, english(minutes))
    return f"{spoken} {'to' if before else 'past'} {name}"


def times() -> Iterator[Value]:
    for hour in range(13):
        for minute in range(0, 60, 5):
            if hour + (minute > 30) <= 12:
                yield french_time(hour, minute), english_time(hour, minute)
    for parts, french_part, english_part in (
        (range(1, 12), "du matin", "in the morning"),
        (range(1, 6), "de l'après-midi", "in the afternoon"),
        (range(6, 10), "du soir", "in the evening"),
        (range(10, 12), "du soir", "at night"),
    ):
        for hour in parts:
            written = f"{french_time(hour, 0)} {french_part}"
            yield written, f"{english(hour)} {english_part}"
            yield written, f"{english_time(hour, 0)} {english_part}"
    for hour in range(2, 12):
        yield f"{french_time(hour, 0)} trente", f"{english(hour)} thirty"
        yield f"{french_time(hour, 0)} quarante-cinq", f"{english(hour)} forty-five"
    yield "midi", "twelve o'clock"


def _clock(hour: int, minute: int) -> Iterator[Value]:
    """As timetables have it: 24 hours in French, before or after noon in English."""
    half = "p.m." if hour >= 12 else "a.m."
    later = hour - 12 if hour > 12 else hour
    if minute:
        yield f"{hour} h {minute:02}", f"{later}:{minute:02} {half}"
        yield f"{hour}h{minute:02}", f"{later}:{minute:02} {half.replace('.', '')}"
        yield f"{hour} h {minute:02}", f"{hour}:{minute:02}"
    else:
        spoken = "noon" if hour == 12 else f"{later} {half}"
        yield f"{hour} h", spoken
        yield f"{hour}h", spoken
        yield f"{hour} heures", spoken


def clocks() -> list[Value]:
    return [
        value
        for hour in range(5, 24)
        for minute in range(0, 60, 5)
        for value in _clock(hour, minute)
    ]


def hours() -> Iterator[Value]:
    for opens in range(7, 12):
        for closes in range(14, 23):
            opened, closed = next(_clock(opens, 0)), next(_clock(closes, 0))
            yield f"de {opened[0]} à {closed[0]}", f"from {opened[1]} to {closed[1]}"


def _days() -> Iterator[tuple[int, str, str]]:
    for (month, english_month), days in zip(MONTHS, _LONGEST, strict=True):
        for day in range(1, days + 1):
            yield day, month, english_month


def _ending(day: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10 if day // 10 != 1 else 0, "th")


def dates() -> Iterator[Value]:
    for day, month, english_month in _days():
        written = f"{'1er' if day == 1 else day} {month}"
        yield written, f"{english_month} {day}"
        yield written, f"{english_month} {day}{_ending(day)}"
        yield written, f"{day} {english_month}"


def full_dates() -> Iterator[Value]:
    for place, (day, month, english_month) in enumerate(_days()):
        year = 1901 + place * 37 % 123
        written = f"{'1er' if day == 1 else day} {month} {year}"
        yield written, f"{english_month} {day}, {year}"
        yield written, f"{day} {english_month} {year}"


def dates_in_words() -> Iterator[Value]:
    for day, month, english_month in _days():
        written = f"{'premier' if day == 1 else french(day)} {month}"
        yield written, f"the {english_ordinal(day)} of {english_month}"
        yield written, f"{english_month} {english_ordinal(day)}"
