"""How French and English write times of the clock and lengths of time."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["clock", "length", "always"]

_FRENCH = "un deux trois quatre cinq six sept huit neuf dix onze douze"
_ENGLISH = "one two three four five six seven eight nine ten eleven twelve"
NUMBERS = {
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
BLANK = "[ \u00a0\u202f]"
_HOUR = rf"{_ALONE}(?P<hour>\d{{1,3}})"
_SAID = rf"{_ALONE}(?P<hour>\d{{1,3}}|{_FEW})"
SPOKEN_HOUR = rf"(?P<hour>\d{{1,2}}|{_ENGLISH.replace(' ', '|')})"
_SUCH = rf"(?:(?:premières|dernières|prochaines){BLANK})?"
_MINUTE = r"(?P<minute>[0-5]\d)"
_OF_DAY = rf"(?:{BLANK}(?P<half>(?:du|le){BLANK}(?:matin|soir)|(?:de{BLANK})?l['’]après-midi)\b)?"
# The last stop of p.m. may be that of the sentence, and is left to it.
_HALF = rf"(?P<half>[ap])(?:m(?!\w)|\.{BLANK}?m\b(?:\.(?![\s\"')\]»”]{{0,3}}\Z))?)"

BOTH: frozenset[Kind] = frozenset(["clock", "length"])
CLOCK: frozenset[Kind] = frozenset(["clock"])
LENGTH: frozenset[Kind] = frozenset(["length"])
ALWAYS: frozenset[Kind] = frozenset(["always"])


def pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_MINUTES = pattern(
    rf"{_ALONE}(?P<minute>\d{{1,3}}|{_SOME}|{_FEW})(?:{BLANK}?(?:mins?|mn)\b|(?:{BLANK}|-){_SUCH}minutes?\b)"
)
_DIGITAL = pattern(rf"{_HOUR}:{_MINUTE}(?::(?P<second>[0-5]\d))?(?![\w:])")

_OVER = rf"{BLANK}?(?:/|sur{BLANK}){BLANK}?"
_ALL_DAY = rf"24{BLANK}?(?:(?:h|heures)?{_OVER}24(?:{BLANK}?(?:h|heures))?|(?:h|heures){BLANK}par{BLANK}jour)(?!\w)"
_ALL_WEEK = rf"(?:7|sept){BLANK}?(?:j|jours)(?:{_OVER}(?:7|sept)|{BLANK}par{BLANK}semaine)(?!\w)"

PATTERNS: dict[str, list[tuple[frozenset[Kind], re.Pattern[str]]]] = {
    "fr": [
        (BOTH, _DIGITAL),
        (LENGTH, _MINUTES),
        (BOTH, pattern(rf"{_HOUR}{BLANK}?h(?:{BLANK}?{_MINUTE})?(?!\w){_OF_DAY}")),
        (LENGTH, pattern(
            rf"{_HOUR}{BLANK}?h{BLANK}?(?P<minute>[0-5]?\d){BLANK}?mi?n(?:{BLANK}?(?P<second>[0-5]?\d){BLANK}?s)?(?!\w)"
        )),
        (BOTH, pattern(
            rf"{_SAID}{BLANK}{_SUCH}heures?\b(?:{BLANK}et{BLANK}(?P<minute>demie?|quart)\b|{BLANK}moins{BLANK}(?P<minus>le{BLANK}quart|{_SOME}|{_FEW})\b)?{_OF_DAY}"
        )),
        (BOTH, pattern(rf"{_SAID}{BLANK}heures?{BLANK}(?P<minute>[0-5]\d|{_SOME})\b{_OF_DAY}")),
        (LENGTH, pattern(
            rf"{_SAID}{BLANK}(?:heures?|h){BLANK}(?:et{BLANK})?(?P<minute>[0-5]?\d|{_SOME}|{_FEW}){BLANK}(?:minutes?|min)\b"
        )),
        (CLOCK, pattern(
            rf"{_ALONE}(?<!-)(?P<hour>(?-i:midi|minuit|MIDI|MINUIT))\b(?!-)(?:{BLANK}(?:et{BLANK}(?=demi|quart))?(?P<minute>demie?|quart|{_SOME}|[0-5]\d)\b)?"
        )),
        (LENGTH, pattern(rf"{_ALONE}(?:une{BLANK})?(?P<minute>demi)-heure\b")),
        (ALWAYS, pattern(
            rf"{_ALONE}(?:{_ALL_WEEK}(?:,|{BLANK}et){BLANK}?)?{_ALL_DAY}(?:(?:,|{BLANK}et){BLANK}?{_ALL_WEEK})?|{_ALONE}{_ALL_WEEK}"
        )),
        (ALWAYS, pattern(rf"{_ALONE}24/7(?!\w)")),
    ],
    "en": [
        (BOTH, _DIGITAL),
        (LENGTH, _MINUTES),
        (CLOCK, pattern(rf"{_HOUR}(?:[:.]{_MINUTE})?{BLANK}?{_HALF}")),
        (CLOCK, pattern(
            rf"{_SAID}(?::{_MINUTE}|{BLANK}o['’]clock\b)?{BLANK}(?P<half>in{BLANK}the{BLANK}(?:morning|afternoon|evening)|at{BLANK}night)\b"
        )),
        (CLOCK, pattern(rf"{_SAID}{BLANK}o['’]clock\b")),
        (CLOCK, pattern(rf"{_ALONE}(?:12(?:[:.]00)?{BLANK})?(?P<hour>noon|midday|midnight)\b")),
        (CLOCK, pattern(rf"{_ALONE}(?P<minute>(?:a{BLANK})?quarter|half|{_SOME}|five|ten){BLANK}past{BLANK}(?P<hour>\d{{1,2}}|{_FEW}|noon|midnight)\b")),
        (CLOCK, pattern(rf"{_ALONE}(?<!from )(?P<minus>(?:a{BLANK})?quarter|{_SOME}|five|ten){BLANK}to{BLANK}(?P<hour>\d{{1,2}}|{_FEW}|noon|midnight)\b")),
        (LENGTH, pattern(rf"{_SAID}(?:{BLANK}|-)(?:hours?|hrs?)\b(?:{BLANK}and{BLANK}a{BLANK}(?P<minute>half|quarter)\b)?")),
        (LENGTH, pattern(rf"{_HOUR}{BLANK}?h(?:{BLANK}?{_MINUTE})?(?!\w)")),
        (LENGTH, pattern(
            rf"{_SAID}(?:(?:{BLANK}|-)(?:hours?|hrs?)|{BLANK}?h)(?:{BLANK}|,{BLANK}|-)?(?:and{BLANK})?(?P<minute>[0-5]?\d|{_SOME}|{_FEW})(?:{BLANK}|-)?(?:min|minute)s?\b"
        )),
        (LENGTH, pattern(rf"{_ALONE}(?P<minute>half)(?:{BLANK}an{BLANK}|-)hour\b")),
        (ALWAYS, pattern(rf"{_ALONE}24(?:/7|/24|{BLANK}hours{BLANK}a{BLANK}day(?:,?{BLANK}(?:7|seven){BLANK}days{BLANK}a{BLANK}week)?)(?!\w)")),
        (ALWAYS, pattern(rf"{_ALONE}(?:7|seven){BLANK}days{BLANK}a{BLANK}week\b")),
        (ALWAYS, pattern(r"\b(?:around|round) the clock\b|\bday and night\b")),
    ],
}  # fmt: skip
