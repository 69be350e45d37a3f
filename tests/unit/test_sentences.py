"""Cutting a text into sentences loses nothing and cuts no more than it must."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.sentences import split

NO_LIMIT = 10_000

texts = st.text(st.sampled_from("ab éM.!?…;:,)» \n\t\r\u2028\u00a0\u202f\u3000😀一。"), max_size=60)


def test_sentences_fields_and_what_stands_between_them() -> None:
    parts = split(" Bonjour M. Dupont.  Il fait beau\u00a0!\r\n\r\nOui.\n", "fr", len, NO_LIMIT)
    assert parts.sentences == ["Bonjour M. Dupont.", "Il fait beau\u00a0!", "Oui."]
    assert parts.separators == [" ", "  ", "\r\n\r\n", "\n"]
    assert parts.num_cut == 0
    assert parts.join(["A.", "B!", "C."]) == " A.  B!\r\n\r\nC.\n"
    parts = split("nom\tprix total\t\tOui. Non.\n\tfin\t\n", "fr", len, NO_LIMIT)
    assert parts.sentences == ["nom", "prix total", "Oui.", "Non.", "fin"]
    assert parts.separators == ["", "\t", "\t\t", " ", "\n\t", "\t\n"]
    # sentencex panics at a no-break space before a full stop.
    assert split("M\u00a0. Oui.", "fr", len, NO_LIMIT).join(["x"]) == "x"
    blank = split(" \n\u2028", "fr", len, NO_LIMIT)
    assert blank.sentences == [] and blank.separators == [" \n\u2028"]
    assert split("Oui. Non.", "fr", len, NO_LIMIT, sentences=False).sentences == ["Oui. Non."]


@pytest.mark.parametrize("language", ["fr", "zh", "no-such-language"])
@given(text=texts, limit=st.integers(1, 20), sentences=st.booleans())
def test_nothing_is_lost(language: str, text: str, limit: int, sentences: bool) -> None:
    parts = split(text, language, len, limit, sentences=sentences)
    assert parts.join(parts.sentences) == text
    assert all((len(sentence) > limit) == (place in parts.too_long) for place, sentence in enumerate(parts.sentences))
    assert all(sentence == sentence.strip() for sentence in parts.sentences)


def test_a_long_sentence_is_cut_where_it_hurts_least() -> None:
    found = split("one two three, four five", "en", len, 15).sentences
    assert found == ["one two three,", "four five"]
    assert split("one two; three, four", "en", len, 15).sentences == ["one two;", "three, four"]
    assert split("一二三四五六七八九十", "zh", len, 5).sentences == ["一二三四五", "六七八九十"]
    parts = split("a b " + "c" * 50 + " d e", "en", len, 10)
    assert parts.sentences == ["a b", "c" * 50, "d e"] and parts.separators == ["", " ", " ", ""]
    assert parts.too_long == {1} and parts.cut == {0, 1, 2} and parts.num_cut == 1


def test_very_long_lines() -> None:
    text = "mot " * 250_000
    parts = split(text, "fr", lambda part: part.count(" ") + 1, 160)
    assert parts.join(parts.sentences) == text and parts.num_cut == 1
    assert all(sentence.count(" ") < 160 for sentence in parts.sentences)
    once = split("他说：「好！」你呢？一。", "zh", len, NO_LIMIT)
    assert split("他说：「好！」你呢？一。" * 1009, "zh", len, NO_LIMIT).sentences == once.sentences * 1009


@pytest.mark.parametrize(
    ("text", "sentences", "separators"),
    [
        ("Bonjour 😀 ça va ? ❤️", ["Bonjour", "ça va ?"], ["", " 😀 ", " ❤️"]),
        ("👨‍👩‍👧 Oui. 🇫🇷 Bravo 🎉🎂 !", ["Oui.", "Bravo"], ["👨‍👩‍👧 ", " 🇫🇷 ", " 🎉🎂 !"]),
        ("Tapez 1️⃣ puis 22 °C.", ["Tapez", "puis 22 °C."], ["", " 1️⃣ ", ""]),
        (":-) À demain xD Bises <3", ["À demain", "Bises"], [":-) ", " xD ", " <3"]),
        ("• Oui.\n ‣  Non.", ["Oui.", "Non."], ["• ", "\n ‣  ", ""]),
        ("— Tu viens ?\n> > Oui.", ["Tu viens ?", "Oui."], ["— ", "\n> > ", ""]),
        ("-5 °C et -- non", ["-5 °C et -- non"], ["", ""]),
        ("Un<br>deux <br /> trois", ["Un", "deux", "trois"], ["", "<br>", " <br /> ", ""]),
        ("<p>Oui.</p>", ["<p>Oui.</p>"], ["", ""]),
    ],
)
def test_emoji_and_the_marks_of_a_list_stand_between_sentences(text, sentences, separators):
    parts = split(text, "fr", len, NO_LIMIT)
    assert (parts.sentences, parts.separators) == (sentences, separators)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "See you at 5 p.m. tomorrow."),
        ("en", "Mr. Smith met Dr. No and Prof. Lee."),
        ("fr", "Je connais M. et Mme Martin, et M. le maire."),
        ("fr", "Ajoutez 1 c. à soupe de sel, max. 2 fois."),
        ("fr", "Lancez d'abord ./configure."),
        ("en", "I know C++ and .NET and IMG_2031.JPG and others."),
        # And those that do.
        ("en", "He left at 6 p.m. | She stayed."),
        ("fr", "Il dort. | elle lit."),
        ("en", "I said no. | They left."),
        ("fr", "Ils vont à la mer. | 15 minutes."),
    ],
)
def test_stops_that_end_no_sentence_and_some_that_do(language: str, text: str) -> None:
    assert split(text.replace("| ", ""), language, len, NO_LIMIT).sentences == text.split(" | ")
