"""Amounts of money: what they are worth as each language writes them, and whether a translation has every one of them.

A model mostly writes them well, but now and then with the separators of the other language, without their sign, or
with the sign of another number. What they are worth tells; their digits alone do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

_SIGNS = "$£€¥"
_SPACES = " \u00a0\u202f\u2009"
_GROUPED = rf"\d{{1,3}}(?:[{_SPACES}]\d{{3}}){{1,4}}+(?:[.,]\d{{1,4}})?(?!\d)"
_UNSPACED = r"\d(?:[.,]?\d){0,20}+"
_LETTERS = r"(?:[A-Z]{1,2}(?=\$))?"

AMOUNT = re.compile(
    rf"(?<!\w){_LETTERS}[{_SIGNS}][ \u00a0]?{_UNSPACED}"
    rf"|(?<![\w.,{_SIGNS}])(?:{_GROUPED}|{_UNSPACED})[{_SPACES}]?{_LETTERS}[{_SIGNS}](?!\d)"
)

_CURRENCIES = {
    "$": r"dollars?|USD",
    "£": r"livres?|pounds?|quid|GBP",
    "€": r"euros?|EUR",
    "¥": r"yens?|yuans?|JPY|CNY",
}
_MANY = r"(?:mille|thousand|millions?|milliards?|billions?|trillions?|bn|m|k)\b"
# The sign of a number stands before it, or after it where no other number follows on it; a word comes later.
_MONEY = re.compile(
    rf"(?:(?P<left>[A-Z]{{0,2}})(?P<before>[{_SIGNS}])[ \u00a0]?)?"
    rf"(?P<number>(?<![\w.,])(?:{_GROUPED}|{_UNSPACED}))"
    rf"(?:(?=[{_SPACES}]?[a-z{_SIGNS}])[{_SPACES}]?(?:{_MANY}[{_SPACES}]?)?(?:de[{_SPACES}]|d[’'])?(?P<right>[A-Z]{{0,2}})"
    rf"(?P<after>[{_SIGNS}])(?!\d)(?:[ \u00a0]?(?P<end>US|CA|A|C|AU|NZ|HK)\b)?)?"
    rf"(?P<words>(?=[{_SPACES}]?[a-z])[{_SPACES}]?(?:{_MANY}[{_SPACES}]?)?(?:de[{_SPACES}]|d[’'])?(?:US[{_SPACES}])?"
    rf"(?:{'|'.join(f'(?P<w{place}>{words})' for place, words in enumerate(_CURRENCIES.values()))})\b)?",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s?(?:-|–|à|et|ou|to|and|or)\s?", re.IGNORECASE)
_DASHES = ("-", "–")
_LEAST_LONG = 4
_MANY_AFTER = re.compile(rf"[{_SPACES}]?{_MANY}", re.IGNORECASE)


class _Style(NamedTuple):
    """How a language writes numbers and amounts."""

    group: str
    point: str
    sign_first: bool


_ENGLISH = _Style(",", ".", sign_first=True)
_STYLES = {"en": _ENGLISH, "fr": _Style(" ", ",", sign_first=False)} | dict.fromkeys(
    ("de", "es", "it", "nl", "pt"), _Style(".", ",", sign_first=False)
)


@dataclass(frozen=True, slots=True)
class _Amount:
    value: Decimal | None
    """None: written as its language does not write it"""
    sign: str
    """empty: a number, and no amount"""
    letters: str
    by_word: bool
    text: str


@dataclass(frozen=True, slots=True)
class Money:
    """Amounts between two languages; of one that is not known they are told by their digits."""

    source: str = ""
    target: str = ""

    def written(self, amount: str, after: str = "") -> str:
        """An amount of the source as the target language writes it; as it is where that is not known.

        after: what follows on it; millions would come between the number and its sign.

        >>> Money("fr", "en").written("1 229,50 €"), Money("en", "fr").written("US$1,500")
        ('€1,229.50', '1 500 US$')
        """
        style = _STYLES.get(self.target[:2])
        if style is None or self.source[:2] not in _STYLES:
            return amount
        [found] = _amounts(amount, self.source, is_lenient=True)
        if found.value is None or _MANY_AFTER.match(after):
            return amount
        number = f"{found.value:,f}".translate({ord(","): style.group, ord("."): style.point})
        sign = found.letters + found.sign
        return f"{sign}{number}" if style.sign_first else f"{number} {sign}"

    def agree(self, source: str, target: str) -> bool:
        """Whether a translation has each amount of its source, and none more that is made of a number in it.

        >>> Money("fr", "en").agree("15 Pro pour 1 229 €", "15 Pro for €1,229")
        True
        >>> Money("fr", "en").agree("15 Pro pour 1 229 €", "€15 Pro for €1,229")
        False
        """
        if not {self.source[:2], self.target[:2]} <= _STYLES.keys():
            return _same_digits(source, target)
        given = list(_amounts(source, self.source, is_lenient=True))
        written = list(_amounts(target, self.target, is_lenient=False))
        left = list(written)
        for amount in given:
            if not amount.sign or amount.by_word:
                continue
            match = next((each for each in left if _is_same(amount, each)), None)
            if match is None:
                return False
            left.remove(match)
        if _long_numbers(given) - {each.value for each in written}:
            return False
        signs = {(each.value, each.sign) for each in given}
        values = {each.value for each in given}
        return not any(
            len(each.sign) > 1
            or (each.sign and each.value in values and (each.value, each.sign) not in signs)
            for each in left
        )


def _long_numbers(amounts: Sequence[_Amount]) -> set[Decimal]:
    """The numbers beside the amounts that no language writes otherwise, or as a word: years, above all."""
    return {
        each.value
        for each in amounts
        if not each.sign
        and each.value is not None
        and len(each.text) >= _LEAST_LONG
        and each.text.isdecimal()
    }


def _is_same(source: _Amount, target: _Amount) -> bool:
    if source.sign != target.sign or (source.letters and source.letters != target.letters):
        return False
    return source.value == target.value or source.text == target.text


def _amounts(text: str, language: str, *, is_lenient: bool) -> Iterator[_Amount]:
    """The numbers of a text with their signs; of a range, all of them have the sign of one."""
    matches = list(_MONEY.finditer(text))
    signs = [_sign(match) for match in matches]
    for place in range(1, len(matches)):
        between = text[matches[place - 1].end() : matches[place].start()]
        if signs[place] and not signs[place - 1] and _RANGE.fullmatch(between):
            signs[place - 1] = signs[place]
        # $5 to 10 people is no range, but $5-10 is.
        elif matches[place - 1]["before"] and not signs[place] and between in _DASHES:
            signs[place] = signs[place - 1]
    for match, sign in zip(matches, signs, strict=True):
        letters = (match["left"] or match["right"] or match["end"] or "").upper()
        by_word = not (match["before"] or match["after"])
        value = _value(match["number"], language, is_lenient=is_lenient)
        yield _Amount(value, sign, letters if sign == "$" else "", by_word, match[0].strip())


def _sign(match: re.Match[str]) -> str:
    """More than one where a number has those of two currencies: €20 pounds."""
    before, after = match["before"] or "", match["after"] or ""
    word = "".join(sign for place, sign in enumerate(_CURRENCIES) if match[f"w{place}"])
    if before and word != before:
        after += word
    return before + after or word


def _value(number: str, language: str, *, is_lenient: bool) -> Decimal | None:
    """What a number is worth; a lenient reader takes it as the other languages write it, where it can be no other.

    >>> _value("1.299", "en", is_lenient=True), _value("1.299,90", "en", is_lenient=True)
    (Decimal('1.299'), Decimal('1299.90'))
    """
    style = _STYLES[language[:2]]
    spaced = re.sub(f"[{_SPACES}]", " ", number)
    styles = [style]
    if is_lenient:
        styles += [other for other in dict.fromkeys(_STYLES.values()) if other != style]
        # 1.299 € is no fraction in a language with a decimal comma.
        styles.sort(key=lambda each: each.point != style.point)
    for each in styles:
        group, point = re.escape(each.group), re.escape(each.point)
        if re.fullmatch(rf"(?:\d+|\d{{1,3}}(?:{group}\d{{3}})+)(?:{point}\d+)?", spaced):
            return Decimal(spaced.replace(each.group, "").replace(each.point, "."))
    return None


def _same_digits(source: str, target: str) -> bool:
    """Whether all digits of the amounts come back, with separators of any kind, and a sign or a word for it."""
    written = ["".join(filter(str.isdigit, match["number"])) for match in _MONEY.finditer(target)]
    for match in AMOUNT.finditer(source):
        digits = "".join(filter(str.isdigit, match[0]))
        sign = next(each for each in match[0] if each in _SIGNS)
        named = re.search(rf"{re.escape(sign)}|{_CURRENCIES[sign]}", target, re.IGNORECASE)
        if digits not in written or not named:
            return False
        written.remove(digits)
    return True
