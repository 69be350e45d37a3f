"""Numbers, ordinals and years in words, French and English, up to a million."""

from __future__ import annotations

_FRENCH = (
    "zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
    "dix-sept dix-huit dix-neuf"
).split()
_FRENCH_TENS = "vingt trente quarante cinquante soixante".split()
_ENGLISH = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_ENGLISH_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_IRREGULAR = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}

LARGEST = 999_999


def french_number(number: int, *, feminine: bool = False) -> str:
    """In the spelling of before 1990, hyphens below a hundred only where no `et` stands.

    >>> french_number(71), french_number(280_000), french_number(21, feminine=True)
    ('soixante et onze', 'deux cent quatre-vingt mille', 'vingt et une')
    """
    thousands, rest = divmod(number, 1000)
    words = []
    if thousands:
        # `mille` never has a plural, and takes it from the `cent` or `vingt` before it.
        words += [_french_hundreds(thousands, ends=False)] if thousands > 1 else []
        words.append("mille")
    if rest or not thousands:
        words.append(_french_hundreds(rest, ends=True))
    text = " ".join(words)
    return f"{text}e" if feminine and number % 10 == 1 and text.endswith("un") else text


def _french_hundreds(number: int, *, ends: bool) -> str:
    hundreds, rest = divmod(number, 100)
    words = []
    if hundreds:
        words += [_FRENCH[hundreds]] if hundreds > 1 else []
        words.append("cents" if hundreds > 1 and not rest and ends else "cent")
    if rest or not hundreds:
        words.append(_french_tens(rest, ends=ends))
    return " ".join(words)


def _french_tens(number: int, *, ends: bool) -> str:
    if number < 20:
        return _FRENCH[number]
    if number == 80:
        return "quatre-vingts" if ends else "quatre-vingt"
    if number > 80:
        return f"quatre-vingt-{_FRENCH[number - 80]}"
    tens = min(number // 10, 6)
    rest = number - 10 * tens
    name = _FRENCH_TENS[tens - 2]
    if not rest:
        return name
    return f"{name} et {_FRENCH[rest]}" if rest in (1, 11) else f"{name}-{_FRENCH[rest]}"


def english_number(number: int) -> str:
    """With `and` before what is below a hundred, as in Britain.

    >>> english_number(321), english_number(21_100)
    ('three hundred and twenty-one', 'twenty-one thousand one hundred')
    """
    thousands, rest = divmod(number, 1000)
    hundreds, below = divmod(rest, 100)
    words = []
    if thousands:
        words += [english_number(thousands), "thousand"]
    if hundreds:
        words += [_ENGLISH[hundreds], "hundred"]
    if below or not words:
        words += ["and"] if words else []
        words.append(_english_tens(below))
    return " ".join(words)


def _english_tens(number: int) -> str:
    if number < 20:
        return _ENGLISH[number]
    tens, rest = divmod(number, 10)
    name = _ENGLISH_TENS[tens - 2]
    return f"{name}-{_ENGLISH[rest]}" if rest else name


def english_ordinal(number: int) -> str:
    """Of a day: below a hundred.

    >>> english_ordinal(1), english_ordinal(12), english_ordinal(20), english_ordinal(31)
    ('first', 'twelfth', 'twentieth', 'thirty-first')
    """
    before, hyphen, last = _english_tens(number).rpartition("-")
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    else:
        last = f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th"
    return before + hyphen + last


def english_year(year: int) -> str:
    """As it is read: two by two, but for round and recent ones.

    >>> english_year(1789), english_year(1905), english_year(1800), english_year(2005), english_year(2021)
    ('seventeen eighty-nine', 'nineteen oh five', 'eighteen hundred', 'two thousand and five', 'twenty twenty-one')
    """
    century, rest = divmod(year, 100)
    if century == 20 and rest < 10:
        return english_number(year)
    if not rest:
        return f"{_english_tens(century)} hundred"
    return f"{_english_tens(century)} {'oh ' if rest < 10 else ''}{_english_tens(rest)}"
