"""What of a sentence is to come back letter for letter, and how it is found again."""

import re
import time

import pytest

from regard.text.alphabet import Alphabet, in_known_signs
from regard.text.kept import outside, stretches
from regard.text.tokenizer import Tokenizer


def found(text: str) -> list[str]:
    return [each.text for each in stretches(text, lambda sign: sign < "\u0180")]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("See https://a.org/x_(y)?b=c#d.", ["https://a.org/x_(y)?b=c#d"]),
        ("(www.a.org/b), or a.com!", ["www.a.org/b", "a.com"]),
        ("Ask a.b+c@d.co.uk, or @e_f.", ["a.b+c@d.co.uk", "@e_f"]),
        ("In ~/a/b, ./c, /d/e.f and C:\\g\\h.i.", ["~/a/b", "./c", "/d/e.f", "C:\\g\\h.i"]),
        ("From src/a.py to b.PDF and .env", ["src/a.py", "b.PDF", ".env"]),
        ("{a} {{ b }} %s %(c)d ${D} $E %1", ["{a}", "{{ b }}", "%s", "%(c)d", "${D}", "$E", "%1"]),
        ("<0>a</0> <br/> `b c`", ["<0>", "</0>", "<br/>", "`b c`"]),
        ("#Paris #42 #FF8800", ["#Paris", "#42", "#FF8800"]),
        ("v1.2, 1.2.3-rc.1, 2.0.0rc1, version 3.11", ["v1.2", "1.2.3-rc.1", "2.0.0rc1", "3.11"]),
        ("3f2a9bc 0xFF INV-20-7 10.0.0.1", ["3f2a9bc", "0xFF", "INV-20-7", "10.0.0.1"]),
        ("--dry-run and max_count", ["--dry-run", "max_count"]),
        ("*so* or **so it is**, ~not~ _this_.", ["*", "*", "**", "**", "~", "~", "_", "_"]),
        ("2*3*4, * a *, *args, **kwargs and __init__", []),
        ("Mme Anne PETIT, Dr. LE-BLANC et OTAN", ["PETIT", "LE-BLANC"]),
        ("M. PETIT EST LÀ", []),
        ("M. LE MAIRE, Mme LA MINISTRE et M. LE GOFF", ["LE GOFF"]),
        ("§ 12, §§3, 12 bis, 40000 et 2024", ["§ 12", "§§3", "12 bis", "40000"]),
        ("Tom &amp; Jerry &#60; &eacute;", ["&amp;", "&#60;"]),
        ("½ or 2½ or 1 ½", ["½", "2½", "1 ½"]),
        ("5 €/mois or 20 %/an in /mois", ["5 €", "/mois"]),
        ("At %I:%M %p, on %d/%m/%Y or in %B", ["%I:%M %p", "%d/%m/%Y", "%B"]),
        (":warning: Do :+1: it", [":warning:", ":+1:"]),
        ("350 M€ ou 1,5Md€", ["350 M€", "1,5Md€"]),
        ("221B Baker Street, room 4A", ["221B", "4A"]),
        ("a {n, plural, one {# b} other {{n} c}} d", ["{n, plural, one {# b} other {{n} c}}"]),
        ("{g, select, m {He} other {They}} and {n}", ["{g, select, m {He} other {They}}", "{n}"]),
        ("{n, plural, one {a and {b}", ["{b}"]),
        (
            "US$200, A$50, 1.299,99€ or $19.99 $14.99",
            ["US$200", "A$50", "1.299,99€", "$19.99", "$14.99"],
        ),
        ("+33 6 12 34 56 78 or (555) 123-4567", ["+33 6 12 34 56 78", "(555) 123-4567"]),
        ("FR76 3000 6000 0112 3456 7890 189", ["FR76 3000 6000 0112 3456 7890 189"]),
        (
            "4111 1111 1111 1111, GB29 NWBK 6016 1331 9268 19",
            ["4111 1111 1111 1111", "GB29 NWBK 6016 1331 9268 19"],
        ),
        ("978-2-07-036822-8; 732 829 320 00074", ["978-2-07-036822-8", "732 829 320 00074"]),
        ("$1,299.99, £5, 12,50 € and 1 150 €", ["$1,299.99", "£5", "12,50 €", "1 150 €"]),
        ("Мария Иванова, 北京; नमस्ते!", ["Мария Иванова, 北京", "नमस्ते"]),
    ],
)
def test_what_is_kept(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Il y a 3,5 millions d'habitants et/ou 24 h/24.",
        "In 1999, 20% of them drove 3.5 km/h (at 5:30 p.m.).",
        "We're no. 1... and 2. Then?",
        "C'est un arc-en-ciel ; l'été, 1 299 000 personnes.",
        "He said: 'Yes!' --- and left.",
        "1 000 000 000 d'habitants, THE BA12 BUSES WERE LATE.",
        "100 % des élèves, 50 %dans la cour.",
        "Note: at 10:30, LE 2E JOUR À 8H.",
    ],
)
def test_ordinary_words_and_numbers_are_not(text: str) -> None:
    assert found(text) == []


def test_words_with_unknown_latin_letters_are_told_apart() -> None:
    kinds = [(each.text, each.kind) for each in stretches("Lech Wałęsa, дом", str.isascii)]
    assert kinds == [("Wałęsa", "word"), ("дом", "script")]


def test_signs_that_the_vocabulary_lacks() -> None:
    found = [(each.text, each.kind) for each in stretches("© 2024, a ≤ b", str.isascii)]
    assert found == [("©", "number"), ("≤", "number")]


def test_what_a_vocabulary_knows() -> None:
    knows = Alphabet(Tokenizer.train(["le chat d'été"] * 3, vocabulary=300, exact=False))
    assert knows("é") and knows("Z") and not knows("ж")
    assert knows("\uff21")  # read as a plain A
    assert knows("\ufb01") and knows("\u2019") and not knows("\u2192")


def test_a_text_to_go_on_from_has_the_signs_of_its_vocabulary() -> None:
    tokenizer = Tokenizer.train(["le chat d'été…"] * 3, vocabulary=300, exact=False)
    text = "L\u2019e\u0301te\u0301\u2026  \u201cdit\u00a0il\u201d\n\tдом"
    assert in_known_signs(text, tokenizer) == 'L\'été…  "dit il"\n\tдом'


@pytest.mark.parametrize(
    "text, there, elsewhere",
    [
        ("a@b.org", "À a@b.org.", "À aa@b.org."),
        ("https://a.org/b", "(https://a.org/b)", "https://a.org/b/c"),
        ("./run", "Lance ./run !", "Lance./run"),
        ("1.2.3", "La 1.2.3.", "La 1.2.3.4"),
    ],
)
def test_a_stretch_stands_alone(text: str, there: str, elsewhere: str) -> None:
    [stretch] = stretches(f"See {text} now", str.isascii)
    assert (stretch.text, stretch.count_in(there), stretch.count_in(elsewhere)) == (text, 1, 0)


def test_what_stands_between() -> None:
    text = "a@b.org and £5."
    assert outside(text, stretches(text, str.isascii)) == ["", " and ", "."]


@pytest.mark.parametrize("part", ["a/", "0 ", "1.", "{{", "<a ", "a_", "(1", "$1", "ж-", "--a", "@a", "a:", "%a ", ":a", "$1 ", "{a, plural,"])  # fmt: skip
def test_a_hostile_text_costs_no_more_than_its_length(part: str) -> None:
    begin = time.perf_counter()
    pieces = stretches(part * 20_000, str.isascii)
    assert time.perf_counter() - begin < 5
    assert all(re.search(each.pattern, part * 20_000) for each in pieces[:1])
