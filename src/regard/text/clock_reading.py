"""Times of the clock and lengths of time as French and English write them, and what each of them may be.

Neither language says all: 2:30 may be in the afternoon, 1h30 may be how long a film is. What stands around tells most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

Span = tuple[int, int]
Kind = Literal["clock", "length", "always"]

HALF_DAY, DAY = 12 * 60, 24 * 60

_FRENCH = "un deux trois quatre cinq six sept huit neuf dix onze douze"
_ENGLISH = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {
    word: number
    for words in (_FRENCH, _ENGLISH)
    for number, word in enumerate(words.split(), start=1)
} | {
    "une": 1, "quart": 15, "le quart": 15, "demi": 30, "demie": 30, "midi": 12, "minuit": 0,
    "quinze": 15, "vingt": 20, "vingt-cinq": 25, "trente": 30, "quarante": 40, "quarante-cinq": 45,
    "an": 1, "quarter": 15, "a quarter": 15, "half": 30, "noon": 12, "midday": 12, "midnight": 0,
    "fifteen": 15, "twenty": 20, "twenty-five": 25, "thirty": 30, "forty": 40, "forty-five": 45,
}  # fmt: skip
_FEW = f"{_FRENCH} {_ENGLISH} une an".replace(" ", "|")
_SOME = "quinze|vingt-cinq|vingt|trente|quarante-cinq|quarante|fifteen|twenty-five|twenty|thirty|forty-five|forty"

# A number is not the end of another, of a fraction or of a date.
_ALONE = r"(?<![\w:.,°])(?<!\d/)"
_B = "[ \u00a0\u202f]"
_HOUR = rf"{_ALONE}(?P<hour>\d{{1,3}})"
_SAID = rf"{_ALONE}(?P<hour>\d{{1,3}}|{_FEW})"
_MINUTE = r"(?P<minute>[0-5]\d)"
_OF_DAY = rf"(?:{_B}(?P<half>du{_B}matin|de{_B}l['’]après-midi|du{_B}soir)\b)?"
# The last stop of p.m. may be that of the sentence, and is left to it.
_HALF = rf"(?P<half>[ap])(?:m(?!\w)|\.{_B}?m\b(?:\.(?![\s\"')\]»”]{{0,3}}\Z))?)"

_BOTH: frozenset[Kind] = frozenset(["clock", "length"])
_CLOCK: frozenset[Kind] = frozenset(["clock"])
_LENGTH: frozenset[Kind] = frozenset(["length"])
_ALWAYS: frozenset[Kind] = frozenset(["always"])


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_MINUTES = _pattern(
    rf"{_ALONE}(?P<minute>\d{{1,3}}|{_SOME}|{_FEW})(?:{_B}?(?:mins?|mn)\b|(?:{_B}|-)(?:premières{_B}|dernières{_B})?minutes?\b)"
)
_DIGITAL = _pattern(rf"{_HOUR}:{_MINUTE}(?::(?P<second>[0-5]\d))?(?![\w:])")

_PATTERNS: dict[str, list[tuple[frozenset[Kind], re.Pattern[str]]]] = {
    "fr": [
        (_BOTH, _DIGITAL),
        (_LENGTH, _MINUTES),
        (_BOTH, _pattern(rf"{_HOUR}{_B}?h(?:{_B}?{_MINUTE})?(?!\w){_OF_DAY}")),
        (_LENGTH, _pattern(
            rf"{_HOUR}{_B}?h{_B}?(?P<minute>[0-5]?\d){_B}?mi?n(?:{_B}?(?P<second>[0-5]?\d){_B}?s)?(?!\w)"
        )),
        (_BOTH, _pattern(
            rf"{_SAID}{_B}(?:premières{_B}|dernières{_B})?heures?\b(?:{_B}et{_B}(?P<minute>demie?|quart)\b|{_B}moins{_B}(?P<minus>le{_B}quart|{_SOME}|{_FEW})\b)?{_OF_DAY}"
        )),
        (_BOTH, _pattern(rf"{_SAID}{_B}heures?{_B}(?P<minute>[0-5]\d|{_SOME})\b{_OF_DAY}")),
        (_LENGTH, _pattern(
            rf"{_SAID}{_B}(?:heures?|h){_B}(?:et{_B})?(?P<minute>[0-5]?\d|{_SOME}|{_FEW}){_B}(?:minutes?|min)\b"
        )),
        (_CLOCK, _pattern(
            rf"{_ALONE}(?P<hour>midi|minuit)\b(?!-)(?:{_B}(?:et{_B})?(?P<minute>demie?|quart|{_SOME}|[0-5]\d)\b)?"
        )),
        (_LENGTH, _pattern(rf"{_ALONE}(?:une{_B})?(?P<minute>demi)-heure\b")),
        (_ALWAYS, _pattern(
            rf"{_ALONE}24{_B}?(?:h|heures)?{_B}?(?:/|sur{_B}){_B}?24(?:{_B}?(?:h|heures))?(?!\w)"
            rf"(?:(?:,|{_B}et){_B}?7{_B}?(?:j|jours)?{_B}?(?:/|sur{_B}){_B}?7(?!\w))?"
        )),
        (_ALWAYS, _pattern(rf"{_ALONE}24/7(?!\w)")),
    ],
    "en": [
        (_BOTH, _DIGITAL),
        (_LENGTH, _MINUTES),
        (_CLOCK, _pattern(rf"{_HOUR}(?:[:.]{_MINUTE})?{_B}?{_HALF}")),
        (_CLOCK, _pattern(
            rf"{_SAID}(?:{_B}o['’]clock\b)?{_B}(?P<half>in{_B}the{_B}(?:morning|afternoon|evening)|at{_B}night)\b"
        )),
        (_CLOCK, _pattern(rf"{_SAID}{_B}o['’]clock\b")),
        (_CLOCK, _pattern(rf"{_ALONE}(?P<hour>noon|midday|midnight)\b")),
        (_CLOCK, _pattern(rf"{_ALONE}(?P<minute>(?:a{_B})?quarter|half|{_SOME}|five|ten){_B}past{_B}(?P<hour>\d{{1,2}}|{_FEW}|noon|midnight)\b")),
        (_CLOCK, _pattern(rf"{_ALONE}(?<!from )(?P<minus>(?:a{_B})?quarter|{_SOME}|five|ten){_B}to{_B}(?P<hour>\d{{1,2}}|{_FEW}|noon|midnight)\b")),
        (_LENGTH, _pattern(rf"{_SAID}(?:{_B}|-)(?:hours?|hrs?)\b(?:{_B}and{_B}a{_B}(?P<minute>half|quarter)\b)?")),
        (_LENGTH, _pattern(rf"{_HOUR}{_B}?h(?:{_B}?{_MINUTE})?(?!\w)")),
        (_LENGTH, _pattern(
            rf"{_SAID}(?:(?:{_B}|-)(?:hours?|hrs?)|{_B}?h)(?:{_B}|,{_B}|-)?(?:and{_B})?(?P<minute>[0-5]?\d|{_SOME}|{_FEW})(?:{_B}|-)?(?:min|minute)s?\b"
        )),
        (_LENGTH, _pattern(rf"{_ALONE}(?P<minute>half)(?:{_B}an{_B}|-)hour\b")),
        (_ALWAYS, _pattern(rf"{_ALONE}24(?:/7|/24|{_B}hours{_B}a{_B}day(?:,?{_B}(?:7|seven){_B}days{_B}a{_B}week)?)(?!\w)")),
        (_ALWAYS, _pattern(r"\b(?:around|round) the clock\b|\bday and night\b")),
    ],
}  # fmt: skip

LANGUAGES = frozenset(_PATTERNS)

_N = r"\d{1,2}"
_FREE = r"(?<![\w.,:/-])"
# What follows a range or a list says what the numbers before it are.
_BEFORE = {
    "fr": _pattern(rf"(?:\b(?:de|entre|à|vers) )({_N}) (?:à|et) \Z|{_FREE}({_N})(?: ou | ?[-–] ?)\Z"),
    "en": _pattern(rf"(?:\b(?:from|between|at|around) )({_N}) (?:to|and|until) \Z|{_FREE}({_N})(?: or | ?[-–] ?)\Z"),
}  # fmt: skip
# 12 à 14 heures par jour; but le 12 à 14 heures is a day and a time.
_BEFORE_LENGTHS = _pattern(rf"{_FREE}({_N}) (?:à|to) \Z")
_BETWEEN = _pattern(r"(?:,| ?[-–/] ?| (?:à|et|ou|to|and|or|until) )(?:(?:à|at|and|from) )? ?")
_FAR = 30
"""letters before and after a time that are looked at"""

# How long something is, by the words before it or after it.
_BEFORE_LENGTH = _pattern(
    r"(?:\bdur\w+|\bpendant|\bprend\w*|\bfa(?:ut|llait|udra)|\bt(?:ous|outes) les|\ben|\bdans|\bdormi|\battend\w*|\bil y a"
    r"|\btravaill\w+|\breste\w*|\bcompte[rz]?|\bmis|\broulé|\bmarché|\bcouru|\bencore|(?:plus|moins) de|\bescale de|\bpause de"
    r"|\btient|\bdurée ?:)(?: environ| entre| au moins| à peine| presque| plus de| moins de)? \Z"
)
_AFTER_LENGTH = _pattern(
    r"(?:[ \u00a0]et [\w ]{1,10})? (?:de (?:retard|route|marche|vol|travail|trajet|cours|sommeil|repos|attente|pause|plus|décalage|voiture"
    r"|train|avion|bus|bateau|conduite|avance|musique|sport|voyage|formation|cuisson|préparation|queue)\b"
    r"|d['’](?:attente|affilée|avance|autoroute|avion)|par (?:jour|semaine|mois|an|nuit)\b|plus t(?:ard|ôt)\b|avant (?:l[ae]\b|l['’]|votre|de )|après l[ae]\b)"
    r"|/(?:jour|semaine|mois)\b"
)
_BEFORE_CLOCK = _pattern(
    r"(?:\bà|\bvers|\bdès|\bavant|\baprès|\bil est|\ble \w+ de|\bde \d{1,2} ?h(?: ?\d\d)? à) \Z"
)
_EVENING = _pattern(r"\b(?:soir|soirée|nuit|après-midi)\b")
_TO_24 = _pattern(r"\b(?:1[3-9]|2[0-4]) ?(?:h|heures|:\d\d)")
# Hours alone are numbers like any other, unless something else speaks of a clock.
_WORKING = _pattern(
    r"\b(?:work|works|worked|working|open|opens|opened|closed|available|shift|break|office|busy|classes|school|job)\b"
)
_FROM_TO = _pattern(
    r"\bfrom (?P<first>\d{1,2}) to (?P<last>\d{1,2})(?=[.,;!?)]?(?:\Z|\s)(?! ?(?:\d|people|years|percent)))"
)
_SOME_DAY = _pattern(
    r"\b(?:at|since|until|till|by|around|before|after) (?P<hour>\d{1,2})(?= (?:tonight|tomorrow|this (?:morning|afternoon|evening)|sharp)\b)"
)
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

    @property
    def in_digits(self) -> bool:
        return any(map(str.isdigit, self.text))


def times(text: str, language: str, *, of_source: bool = False) -> list[Time]:
    """From left to right; a source is taken for what it may mean, a translation for what it says.

    >>> [(each.text, sorted(each.minutes)) for each in times("De 9 à 17h, pendant 1h30.", "fr")]
    [('9', [540]), ('17h', [1020]), ('1h30', [90])]
    """
    matches = sorted(
        (
            (match.start(), -match.end(), place)
            for place, (_, pattern) in enumerate(_PATTERNS[language])
            for match in pattern.finditer(text)
        ),
    )
    found: list[Time] = []
    end = 0
    for start, stop, place in matches:
        if start >= end:
            end = -stop
            kinds, pattern = _PATTERNS[language][place]
            match = pattern.match(text, start)
            assert match
            found.append(_time(match, kinds, language, of_source=of_source))
    if language == "en":
        found += [each for each in _bare(text) if not any(_meet(each, other) for other in found)]
        found.sort(key=lambda each: each.span)
    return _joined(text, found, language)


def _time(match: re.Match[str], kinds: frozenset[Kind], language: str, *, of_source: bool) -> Time:
    groups = {name: value.lower() for name, value in match.groupdict().items() if value}
    span, text = match.span(), match[0]
    hour, minute = _number(groups.get("hour", "0")), _number(groups.get("minute", "0"))
    total = 60 * hour + minute - _number(groups.get("minus", "0"))
    if kinds == _ALWAYS:
        return Time(span, text, kinds, (DAY,), 24)
    if groups.get("hour") in _NAMED:
        return Time(span, text, kinds, (total % DAY,), hour, has_half=True)
    if "half" in groups:
        return Time(span, text, _CLOCK, _in_half(hour, total, groups["half"]), hour, has_half=True)
    if "second" in groups:
        # Hours and minutes alone are another time than one with seconds.
        return Time(span, text, kinds, (-60 * total - int(groups["second"]),), hour)
    is_twelve = kinds == _CLOCK or (of_source and (language == "en" or _is_evening(match.string)))
    if kinds == _BOTH:
        kinds = (
            _by_neighbours(match, of_source=of_source)
            if language == "fr"
            else _BOTH
            if of_source
            else _CLOCK
        )
    if hour > 24 or (hour == 24 and kinds == _BOTH):
        kinds = kinds & _LENGTH
    values = [total % DAY if "clock" in kinds else total]
    if "clock" in kinds and hour <= 12 and text[0] != "0" and is_twelve:
        values.append((total + HALF_DAY) % DAY)
    return Time(span, text, kinds, tuple(values), hour)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else _NUMBERS[re.sub(_B, " ", text)]


def _in_half(hour: int, total: int, half: str) -> tuple[int, ...]:
    """Nothing for 0:45 a.m., which no clock shows; but 15 h de l'après-midi is said."""
    first = half in ("a", "at night" if hour < 6 else "a") or half.endswith(("matin", "morning"))
    if hour > 12 and half not in ("a", "p"):
        return (total,)
    return (total % HALF_DAY + (0 if first else HALF_DAY),) if 0 < hour <= 12 else ()


def _by_neighbours(match: re.Match[str], *, of_source: bool) -> frozenset[Kind]:
    text, (start, end) = match.string, match.span()
    before, after = text[max(0, start - _FAR) : start], text[end : end + _FAR]
    if _BEFORE_LENGTH.search(before) or _AFTER_LENGTH.match(after):
        return _LENGTH
    return _CLOCK if of_source and _BEFORE_CLOCK.search(before) else _BOTH


def _is_evening(text: str) -> bool:
    """Whether 8 h may be in the evening: of somebody who counts to twelve."""
    return bool(_EVENING.search(text)) and not _TO_24.search(text)


def _bare(text: str) -> Iterator[Time]:
    """Hours alone are numbers like any other, unless something else speaks of a clock."""
    if _WORKING.search(text):
        for match in _FROM_TO.finditer(text):
            first, last = int(match["first"]), int(match["last"])
            if 0 < first <= 12 and 0 < last <= 12:
                later = HALF_DAY if last <= first % 12 or first == 12 else 0
                yield Time(match.span("first"), match["first"], _CLOCK, (60 * first,), first)
                yield Time(match.span("last"), match["last"], _CLOCK, (60 * last + later,), last)
    for match in _SOME_DAY.finditer(text):
        hour = int(match["hour"])
        if 0 < hour <= 12:
            values = (60 * hour, (60 * hour + HALF_DAY) % DAY)
            yield Time(match.span("hour"), match["hour"], _CLOCK, values, hour)


def _joined(text: str, found: list[Time], language: str) -> list[Time]:
    """With the hours that begin a range; what the last says of the half of the day or of its kind holds for all."""
    joined: list[Time] = []
    for each in reversed(found):
        if joined and _BETWEEN.fullmatch(text, each.span[1], joined[0].span[0]):
            if each.kinds == _LENGTH and joined[0].kinds == _BOTH:
                joined[0] = replace(joined[0], kinds=_LENGTH)
            each = _like(each, joined[0])
        joined.insert(0, each)
        first = _first(text, each, language)
        if first and not any(_meet(first, other) for other in found):
            joined.insert(0, _like(first, each))
    return joined


def _first(text: str, last: Time, language: str) -> Time | None:
    """A number that begins the range which a time ends."""
    end = last.span[0]
    start = max(0, end - _FAR)
    match = _BEFORE[language].search(text[start:end])
    if not match and last.kinds == _LENGTH:
        match = _BEFORE_LENGTHS.search(text[start:end])
    if not match or last.kinds == _ALWAYS:
        return None
    group = match.lastindex or 1
    number = int(match[group])
    are_minutes = last.hour == 0 and last.kinds == _LENGTH
    span = (start + match.start(group), start + match.end(group))
    return Time(span, match[group], last.kinds, (number if are_minutes else 60 * number,), number)


def _like(first: Time, last: Time) -> Time:
    if last.kinds == _LENGTH and first.kinds == _BOTH:
        return replace(first, kinds=_LENGTH)
    is_open = "clock" in first.kinds and not first.has_half and 0 < first.hour <= 12
    if not (is_open and last.has_half and last.minutes):
        return first
    # From 10 to 11:30 p.m. is in the evening; from 9 to 5 p.m. begins in the morning.
    [end] = last.minutes
    value = first.minutes[0] % HALF_DAY + (HALF_DAY if end >= HALF_DAY else 0)
    value = value if value < end else (value + HALF_DAY) % DAY
    return replace(first, kinds=_CLOCK, minutes=(value,), has_half=True)


def _meet(one: Time, other: Time) -> bool:
    return one.span[0] < other.span[1] and other.span[0] < one.span[1]
