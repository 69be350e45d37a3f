"""Protected spans: found, masked by stand-ins, restored, searched for again, and at worst translated around."""

from pathlib import Path

import pytest
from fixtures import make_model_folder
from hypothesis import given
from hypothesis import strategies as st

from regard import load
from regard.errors import RegardWarning
from regard.text.normalise import Normalised
from regard.text.protected import _PATTERNS, find_protected
from regard.text.words import Link, words
from regard.translate.protect import MaskedSentence, mask


def masked(text: str) -> MaskedSentence:
    return mask(text, Normalised.of(text), find_protected(text, str.isascii))


def restored(text: str, written: str) -> str:
    """What is restored where the words stand in the same order."""
    sentence = masked(text)
    pairs = zip(words(sentence.text), words(written), strict=False)
    return sentence.restore(written, [Link(*pair, 1.0) for pair in pairs]).text


@pytest.mark.parametrize(
    "text, read",
    [
        ("See https://a.org/b or a@b.org", "See X1 or Zorvan"),
        ("X1 and x2 are in /a/b, 731 in %d.", "X1 and x2 are in X3, 731 in 842."),
        ("Click <0>here</0> *fast*", "Click here fast"),
        ("A <img src='x'/> cat<wbr>sleeps", "A  cat sleeps"),
        ("Use <name> here", "Use X1 here"),
        ("It is late.", "It is late."),
    ],
)
def test_what_the_model_reads(text: str, read: str) -> None:
    assert masked(text).text == read


@pytest.mark.parametrize(
    "text, written, expected",
    [
        ("See /a/b or %s", "Voir X2 ou x1", "Voir %s ou /a/b"),
        ("Click <0>here</0> fast", "Clique ici vite", "Clique <0>ici</0> vite"),
        ("Click **here** fast", "Clique ici vite", "Clique **ici** vite"),
        ("A cat<wbr>sleeps", "Un chat dort", "Un chat <wbr>dort"),
    ],
)
def test_what_is_restored(text: str, written: str, expected: str) -> None:
    assert restored(text, written) == expected


@pytest.mark.parametrize("written", ["Voir", "X1 et X1", "X10", "Xx1"])
def test_a_stand_in_must_come_back_once(written: str) -> None:
    sentence = masked("See /a/b")
    assert sentence.lacks(written) and not sentence.lacks("Voir x1.")


def test_a_lost_stand_in_becomes_a_required_word(tmp_path: Path) -> None:
    """A model with random weights never copies anything by itself."""
    model = load(make_model_folder(tmp_path / "random"), threads=1)
    found = model.translate("Le chat https://a.org dort", details=True, beam=4)
    [sentence] = found.sentences
    assert "https://a.org" in found.text and sentence.flags == []
    assert sentence.search is not None and sentence.search.constraints.required
    best = sentence.candidates[0]
    assert best.edited and "X1" in best.written
    assert best.log_probability == pytest.approx(sum(best.token_log_probabilities))


@pytest.mark.filterwarnings("ignore::regard.errors.RegardWarning")
def test_at_worst_the_parts_between_are_translated(tmp_path: Path) -> None:
    model = load(make_model_folder(tmp_path / "random"), threads=1)
    found = model.translate("Le chat https://a.org dort", details=True, method="greedy")
    assert found.in_parts and "https://a.org" in found.text
    with pytest.warns(RegardWarning, match="lack an address"):
        model.translate("Le chat https://a.org dort", method="greedy", prefix="The")


def test_all_protected_is_not_translated_and_terms_bans_and_plain_text_go_before() -> None:
    found = load("en-fr").translate("Привет, мир!", details=True)
    assert found.text == "Привет, мир!" and found.sentences[0].candidates[0].tokens == []
    model = load("en-fr")

    def read(text: str, **options: object) -> str:
        return model.translate(text, details=True, **options).sentences[0].protected  # type: ignore[call-overload]

    assert read("Ask a@b.org now.") == "Ask Zorvan now."
    for options in ({"plain": True}, {"banned": ["b"]}, {"glossary": {"a@b.org": "c@d.org"}}):
        assert read("Ask a@b.org now.", **options) == "Ask a@b.org now."
    assert read("I don\u2019t.", plain=True) == "I don\u2019t."


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
        ("A * b | c, x^2, ~5 and a \\ b **** {c", ["*", "|", "x^2", "~5", "\\", "****", "{"]),
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
    kinds = [each.kind for each in find_protected("a@b.org saw %d cats in /tmp, <b>дом</b>", str.isascii)]
    assert kinds == ["person", "number", "name", "tag", "name", "tag"]


PARTS = [*"aEfvw047+-.:/\\%{}<>@#&$`§¼ _~()*€,;=\u0660", *":// www. 0x v1 .7z ab: INV- 1990 deadbeef".split()]


@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join))
def test_what_a_form_begins_with_is_in_every_text_that_has_the_form(text: str) -> None:
    for _, needs, pattern in _PATTERNS:
        assert needs.search(text) or not pattern.search(text)
