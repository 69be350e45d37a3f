"""What the words around a number say of it: that it is an hour, how long something takes, or in which half of the day."""

from __future__ import annotations

import functools
import re

from regard.text.clock_patterns import NUMBERS, SPOKEN_HOUR, pattern

_FAR = 30
"""letters before and after a time that are looked at"""

# How long something is, by the words before it or after it.
_BEFORE_LENGTH = pattern(
    r"(?:"
    r"(?:\bdur\w+|\b(?:prend\w*|pris|faut|fallait|faudra|met|mettre|mis)(?: de)?)"
    r"(?: entre| environ| au moins| à peine| presque| plus de| moins de)?"
    r"|\bpendant|\bdurant|\bt(?:ous|outes) les|\ben|\bdans|\bsous|\bil y a|\bdormi|\battend(?:u|s|re|ez|ons|ent)|\btravaill\w+|\breste\w*"
    r"|\bcompte[rz]?|\broulé|\bmarché|\bcouru|\bencore|\btient|\b(?:plus|moins) de"
    r"|\b(?:retard\w*|décal\w+|durée|délai|attente|escale|pause|prolong\w+) de"
    r"|\b(?:durée|repos|cuisson|préparation|attente|trajet) ?:"
    r"|\b(?:mijoter|cuire|reposer|mariner|chauffer|bouillir|tremper|refroidir|lever|frigo|réfrigérateur|four)(?: \w{1,12}){0,2}"
    r")(?: environ)?(?:(?: de)? \d{1,2} (?:à|ou))? \Z"
)
_AFTER_LENGTH = pattern(
    r"(?: et \w{1,10})? (?:de (?:retard|route|marche|vol|travail|trajet|cours|sommeil|repos|attente|pause|plus|décalage"
    r"|voiture|train|avion|bus|bateau|conduite|avance|musique|sport|voyage|formation|cuisson|préparation|queue)\b"
    r"|d['’](?:attente|affilée|avance|autoroute|avion)|par (?:jour|semaine|mois|an|nuit)\b|au (?:frais|frigo|réfrigérateur|congélateur|four|chaud)\b|plus t(?:ard|ôt)\b"
    r"|avant (?:l[ae]\b|l['’]|votre|de )|après l[ae]\b)|/(?:jour|semaine|mois)\b"
)
# À 2h de Paris, à 2h de route; but the train leaves à 14h de Paris.
_AT = pattern(r"(?<![\dh] )\bà \Z")
_THERE = pattern(r"\b(?:est|sommes|suis|sont|situé\w*|habit\w+|trouve\w*) à \Z")
_FROM_A_PLACE = pattern(r" d(?:e |['’])(?-i:[A-ZÀ-Þ]|ici\b)")
_UP_TO = pattern(
    r"\b(?:inférieur\w*|supérieur\w*|égale?s?|limit\w+|rédui\w+|ramen\w+)(?: \w{1,20}){0,2} à \Z"
)
_AWAY = pattern(r" de (?:route|marche|vol|voiture|train|avion|bateau)\b")
_BEFORE_CLOCK = pattern(r"\b(?:vers|dès|avant|après|il est|le \w{1,20} de) \Z")
_TOLD = pattern(r"\best de \Z")
_RANGE = pattern(r"\bde \Z"), pattern(r" à (?:\d|midi|minuit)")

_EVENING = pattern(r"\bsoir(?:ée)?\b|\bdîn\w+")
_AFTERNOON = pattern(r"\baprès-midi\b")
_OTHERWISE = pattern(r"\b(?:matin|matinée|nuit|aube|(?:demain|hier)(?! soir))\b")
_TO_24 = pattern(r"\b(?:1[3-9]|2[0-4]) ?(?:h|heures|:\d\d)")

_N = r"\d{1,2}"
_FREE = r"(?<![\w.,:/-])"
# What ends a range says what the number before it is.
_BEFORE = {
    "fr": pattern(rf"(?:\b(?:de|entre|à|vers) )({_N}) (?:à|et) \Z|{_FREE}({_N})(?: ou | ?[-–] ?)\Z"),
    "en": pattern(rf"(?:\b(?:from|between|at|around) )({_N}) (?:to|and|until) \Z|{_FREE}({_N})(?: or | ?[-–] ?)\Z"),
}  # fmt: skip
# 12 à 14 heures par jour; but le 12 à 14 heures is a day and a time.
_BEFORE_LENGTHS = pattern(rf"{_FREE}({_N}) (?:à|to) \Z")

# English hours alone are numbers like any other, unless something else speaks of a clock.
_WORKING = pattern(
    r"\b(?:work(?:s|ed|ing)?|open(?:s|ed)?|closed|available|shift|break|office|busy|class(?:es)?|school|job|breakfast|lunch|dinner)\b"
)
_FROM_TO = pattern(
    r"\bfrom (?P<first>\d{1,2}) to (?P<last>\d{1,2})"
    r"(?=[.,;!?)]?\Z|[.,;!?)]? (?:on|every|each|except|today|tomorrow|during|is|and|but|weekdays|\w{2,6}days?)\b)"
)
_SOME_DAY = pattern(
    r"\b(?:at|since|until|till|by|around|before|after) (?P<hour>\d{1,2})"
    r"(?= (?:tonight|tomorrow|this (?:morning|afternoon|evening)|sharp)\b)"
)
# At 9 somebody left school, but called you by the clock.
_MEETING = pattern(
    r"\b(?:call(?:ed)?|meet(?:ing)?|met|see you|arrive[sd]?|leaves?|opens?|closes?|wakes?|woke|g[eo]ts? up|breakfast|lunch|dinner"
    r"|appointment)\b[^.!?\d]{0,40}? at (?P<hour>\d{1,2})(?=[.,;!?)]*\Z|[,;] )"
)
# Back at six: nothing but an hour, as people say it.
_SPOKEN = pattern(
    r"\b(?:at|by|until|till|before|after|around|about|since|from|between|to|and|for)(?: about| around)? "
    rf"{SPOKEN_HOUR}(?![\w:%-]|[.,]\d| (?:hours?|minutes?|days?|years?|times?|o['’]clock|[ap]\.?m)\b)"
)


def is_length(match: re.Match[str]) -> bool:
    """Whether a French time is how long something takes: a film of 1h30."""
    before, after = _around(match)
    if _AT.search(before):
        is_there = _THERE.search(before) and _FROM_A_PLACE.match(after)
        return bool(_AWAY.match(after) or is_there or _UP_TO.search(before))
    _, closing = _RANGE
    is_told = _TOLD.search(before) and not closing.match(after)
    return bool(is_told or _BEFORE_LENGTH.search(before) or _AFTER_LENGTH.match(after))


def is_clock(match: re.Match[str]) -> bool:
    before, after = _around(match)
    opening, closing = _RANGE
    is_open = opening.search(before) and closing.match(after)
    return bool(is_open or _AT.search(before) or _BEFORE_CLOCK.search(before))


def _around(match: re.Match[str]) -> tuple[str, str]:
    text, (start, end) = match.string, match.span()
    return text[max(0, start - _FAR) : start], text[end : end + _FAR]


def halves(text: str, hour: int) -> tuple[int, ...]:
    """In which halves of the day a French hour up to twelve may be: both where the sentence does not count to 24.

    >>> halves("On mange à 8h.", 8), halves("Ce soir, on mange à 8h.", 8), halves("À 8h, le matin ou le soir.", 8)
    ((0,), (1,), (0, 1))
    """
    is_evening, is_afternoon, is_otherwise, is_to_24 = _said_of_the_day(text)
    if not (is_evening or is_afternoon) or is_to_24:
        return (0,)
    is_sure = (is_evening and 5 <= hour < 12) or (is_afternoon and 1 <= hour <= 6)
    return (1,) if is_sure and not is_otherwise else (0, 1)


@functools.lru_cache(maxsize=1)
def _said_of_the_day(text: str) -> tuple[bool, ...]:
    """Read once for all the times of a text, which may be many."""
    return tuple(bool(each.search(text)) for each in (_EVENING, _AFTERNOON, _OTHERWISE, _TO_24))


def range_start(text: str, end: int, language: str, *, of_lengths: bool) -> tuple[int, int] | None:
    """Where the number stands that begins a range, if something ends one there: 9 in 9 to 5 p.m."""
    start = max(0, end - _FAR)
    match = _BEFORE[language].search(text[start:end])
    if not match and of_lengths:
        match = _BEFORE_LENGTHS.search(text[start:end])
    if not match:
        return None
    first, last = match.span(match.lastindex or 1)
    return start + first, start + last


def bare_hours(text: str) -> list[tuple[tuple[int, int], tuple[int, ...]]]:
    """English hours without any sign of a clock, and in which halves of the day they may be: from 9 to 5.

    >>> bare_hours("He works from 9 to 5."), bare_hours("It fell from 9 to 5.")
    ([((14, 15), (0,)), ((19, 20), (1,))], [])
    """
    found: list[tuple[tuple[int, int], tuple[int, ...]]] = []
    if _WORKING.search(text):
        for match in _FROM_TO.finditer(text):
            first, last = int(match["first"]), int(match["last"])
            if 0 < first <= 12 and 0 < last <= 12:
                is_later = last <= first % 12 or (first == 12 and last < 12)
                found.append((match.span("first"), (int(first == 12),)))
                found.append((match.span("last"), (int(is_later or last == 12),)))
    found += [
        (match.span("hour"), (0, 1))
        for match in (*_SOME_DAY.finditer(text), *_MEETING.finditer(text))
        if 0 < int(match["hour"]) <= 12
    ]
    return found


def spoken_hours(text: str) -> list[tuple[tuple[int, int], int]]:
    """English numbers that may be hours, and may be nothing of the kind.

    >>> spoken_hours("He is here between 5 and six, at 7 a.m. or for two hours.")
    [((19, 20), 5), ((25, 28), 6)]
    """
    found = ((match.span("hour"), match["hour"].lower()) for match in _SPOKEN.finditer(text))
    hours = ((span, int(said) if said.isdecimal() else NUMBERS[said]) for span, said in found)
    return [(span, hour) for span, hour in hours if 0 < hour <= 12]
