"""Which spans of a sentence a translation must copy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.protected import _PATTERNS, find_protected


def found(text: str) -> list[str]:
    return [each.text for each in find_protected(text, lambda sign: sign < "\u0180" or sign == "€")]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("See https://a.org/x_(y)?b=c#d.", ["https://a.org/x_(y)?b=c#d"]),
        ("(www.a.org/b), or a.com!", ["www.a.org/b", "a.com"]),
        ("Ask a.b+c@d.co.uk, or @e_f.", ["a.b+c@d.co.uk", "@e_f"]),
        ("From src/a.py to b.PDF and .env", ["src/a.py", "b.PDF", ".env"]),
        ("{a} {{ b }} %s %(c)d ${D} $E %1", ["{a}", "{{ b }}", "%s", "%(c)d", "${D}", "$E", "%1"]),
        ("<0>a</0> <br/> `b c`", ["<0>", "</0>", "<br/>", "`b c`"]),
        ("#Paris #42 --dry-run max_count", ["#Paris", "#42", "--dry-run", "max_count"]),
        ("3f2a9bc 0xFF INV-20-7 10.0.0.1", ["3f2a9bc", "0xFF", "INV-20-7", "10.0.0.1"]),
        ("*so* or **so it is**, ~not~ _this_.", ["*", "*", "**", "**", "~", "~", "_", "_"]),
        ("Tom &amp; Jerry &eacute;", ["&amp;"]),
        ("At %I:%M %p, on %d/%m/%Y :warning:", ["%I:%M %p", "%d/%m/%Y", ":warning:"]),
        ("a {n, plural, one {# b} other {{n} c}} d", ["{n, plural, one {# b} other {{n} c}}"]),
        ("US$1,500 or 1.299,99€", ["US$1,500", "1.299,99€"]),
        ("+33 6 12 34 56 78 or (555) 123-4567", ["+33 6 12 34 56 78", "(555) 123-4567"]),
        ("FR76 3000 6000 0112 3456 7890 189", ["FR76 3000 6000 0112 3456 7890 189"]),
        ("978-2-07-036822-8; 732 829 320 00074", ["978-2-07-036822-8", "732 829 320 00074"]),
        ("Мария Иванова, 北京; नमस्ते!", ["Мария Иванова, 北京", "नमस्ते"]),
        # Ordinary words and numbers are none.
        ("Il y a 3,5 millions d'habitants et/ou 24 h/24 à 12,50 €.", []),
        ("In 1999, 20% of them drove 3.5 km/h (at 5:30 p.m.) for $1,299.99.", []),
        ("Note: at 10:30, LE 2E JOUR À 8H. --- 100 % des élèves", []),
    ],
)
def test_spans(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_kinds() -> None:
    text = "a@b.org saw %d cats in /tmp, <b>дом</b>"
    kinds = [each.kind for each in find_protected(text, str.isascii)]
    assert kinds == ["person", "number", "name", "tag", "name", "tag"]


PARTS = [
    *"aEfvw047+-.:/\\%{}<>@#&$`§¼ _~()*€,;=\u0660",
    "://",
    "www.",
    "0x",
    "v1",
    ".7z",
    "ab:",
    "INV-",
    "1990",
    "deadbeef",
]


@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join))
def test_what_a_form_begins_with_is_in_every_text_that_has_the_form(text: str) -> None:
    for _, needs, pattern in _PATTERNS:
        assert needs.search(text) or not pattern.search(text)
