"""Signs of print and of copied pages are read as those of a keyboard."""

import pytest

from regard.text.respelling import Respelt
from regard.text.signs import in_plain_signs, plain


@pytest.mark.parametrize(
    "given, read",
    [
        ("I don\u2019t, \u201cyes\u201d, d\u00b4un", "I don't, \"yes\", d'un"),
        ("the \ufb01rst of\ufb01ce, a \ufb02ight", "the first office, a flight"),
        ("cafe\u0301, garc\u0327on", "café, garçon"),
        ("re\u00adsult, a\u200b \u2060b\ufeff\u200e", "result, a b"),
        ("1\u202f000\u00a0000 \u2003 m", "1 000 000 m"),
        ("late\u2014very late \u2014 yes\u2026", "late \u2013 very late \u2013 yes..."),
        ("le 1\u1d49\u02b3, M\u1d50\u1d49 Martin", "le 1er, Mme Martin"),
        ("\U0001d5db\U0001d5f6 \uff21\uff11, \u2167", "Hi A1, VIII"),
        ("''yes'' and ,,yes''", '"yes" and "yes"'),
        ("\u22125 g de CO\u2082, 1\u20442, etc\u2026", "-5 g de CO2, 1/2, etc."),
        ("l&rsquo;&eacute;t&eacute;&nbsp;: I&#39;m &#8220;here&quot;", "l'été : I'm \"here\""),
        ("R\u00e9glages \u203a Langue", "R\u00e9glages > Langue"),
        ("le \u2039 mot \u203a", 'le " mot "'),
        ("Yes,please: 1,5", "Yes, please: 1,5"),
        ("\u1112\u1161\u11ab", "\ud55c"),
    ],
)
def test_signs_are_those_of_a_keyboard(given: str, read: str) -> None:
    assert plain(given) == read
    assert plain(read) == read


@pytest.mark.parametrize(
    "text", ["Hi. \u2028 Hello.", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "m\u00b2, 5 \u2192 6", "&lt;b&#062; &amp; &#0060;"]
)  # fmt: skip
def test_what_means_something_stays(text: str) -> None:
    assert plain(text) == text


def test_each_sign_has_its_place() -> None:
    read = in_plain_signs(Respelt.of("\u200bof\ufb01ce, cafe\u0301\u2026"))
    assert read.text == "office, café..."
    assert list(read.places) == [1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 13, 13, 14]
