"""What a sign is to a sentence: an & between words, the end of a line, a name before what is said, a tag in a word."""

import re

import pytest
from document_fixtures import translator

from regard.documents import translate_document
from regard.documents.placement import Linked
from regard.documents.translation import segment_texts

FRENCH = {
    "Help & Support": "Aide et assistance",
    "Terms & Conditions": "Conditions générales & mentions",
    "Why? Tell me!": "Pourquoi ? Dis-moi !",
    "He is gone. Are you sure that he has left? Yes!": "Il est parti. Sûr qu'il ? Oui !",
    "One two three: four": "Un deux trois : quatre",
}
XLIFF = (
    '<xliff version="1.2"><file><trans-unit id="1"><source>%</source><target>{}</target>'
    "</trans-unit></file></xliff>"
)


def translate(text: str, suffix: str) -> str:
    document = translate_document(text.encode(), suffix, translator(FRENCH.__getitem__))
    assert document.warnings == []
    return document.data.decode()


@pytest.mark.parametrize(
    "suffix, before, after, sign, written",
    [
        (".md", "{}\n", "{}\n", "&", "&"),
        (".md", "{}\n", "{}\n", "&amp;", "&amp;"),
        # In a page a reference is right whatever follows it.
        (".html", "<p>{}</p>", "<p>{}</p>", "&", "&amp;"),
        (".html", "<p>{}</p>", "<p>{}</p>", "&amp;", "&amp;"),
        (".po", 'msgid "%"\nmsgstr ""\n', 'msgid "%"\nmsgstr "{}"\n', "&", "&"),
        (".po", 'msgid "%"\nmsgstr ""\n', 'msgid "%"\nmsgstr "{}"\n', "&amp;", "&amp;"),
        (".xlf", XLIFF.format(""), XLIFF.format("{}"), "&amp;", "&amp;"),
    ],
)
def test_an_ampersand_between_words_is_one_of_them(
    suffix: str, before: str, after: str, sign: str, written: str
) -> None:
    for source, target in list(FRENCH.items())[:2]:
        source, target = source.replace("&", sign), target.replace("&", written)
        expected = after.replace("%", source).replace("{}", target)
        assert translate(before.replace("%", source).replace("{}", source), suffix) == expected


@pytest.mark.parametrize("suffix", [".md", ".html"])
def test_an_ampersand_in_a_name_comes_back_as_it_is(suffix: str) -> None:
    loud = translator(lambda text: text.replace("calls", "appelle"))
    text = "AT&T calls R&amp;D at https://x.org/?a=1&amp;b=2"
    out = translate_document(text.encode(), suffix, loud).data.decode()
    assert out == text.replace("calls", "appelle")


def test_a_text_that_looks_like_a_reference_becomes_none() -> None:
    answer = translator(lambda text: "Écrivez &lt; ici")
    assert translate_document(b"Write it", ".md", answer).data.decode() == "Écrivez \\&lt; ici"


CUE = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"


@pytest.mark.parametrize(
    "before, after",
    [
        ("Why?\nTell me!", "Pourquoi ?\nDis-moi !"),
        (
            "He is gone.\nAre you sure that he has left?\nYes!",
            "Il est parti.\nSûr qu'il ?\nOui !",
        ),
        ("One two three:\nfour", "Un deux trois :\nquatre"),
        ("One two\nthree: four", "Un deux\ntrois : quatre"),
    ],
)
def test_no_line_begins_with_the_end_of_a_sentence(before: str, after: str) -> None:
    assert translate(CUE.format(before), ".srt") == CUE.format(after)
    assert translate(before, ".md") == after


def test_a_line_does_not_end_after_an_opening_quotation_mark() -> None:
    answer = translator(lambda text: "a « bbbb »")
    assert translate_document(b"aaa\nbbbbb", ".md", answer).data.decode() == "a\n« bbbb »"


@pytest.mark.parametrize(
    "cue, texts",
    [
        ("JOHN: What?\nMARY: Nothing.", ["JOHN: What?", "MARY: Nothing."]),
        ("JEAN : Quoi ?\nMARIE : Rien.", ["JEAN : Quoi ?", "MARIE : Rien."]),
        ("What?\n<i>MAN #2: Nothing.</i>", ["What?", "MAN #2: Nothing."]),
        ("John: What\nis it?\nMary Ann: Nothing.", ["John: What is it?", "Mary Ann: Nothing."]),
        ("I said to\nJohn: come here.", ["I said to John: come here."]),
        ("It is at\n10:30 today.", ["It is at 10:30 today."]),
    ],
)
def test_each_speaker_is_translated_alone(cue: str, texts: list[str]) -> None:
    assert segment_texts(CUE.format(cue).encode(), ".srt") == texts


@pytest.mark.parametrize(
    "before, target, after",
    [
        ("An area of 5 m<sup>2</sup> here", "Ici 5 m2 de surface", "Ici 5 m<sup>2</sup> de surface"),
        ("Drink H<sub>2</sub>O now", "Bois H2O maintenant", "Bois H<sub>2</sub>O maintenant"),
        ("Be <i>H</i><sub>2</sub>O or CO<sub>2</sub>", "CO2 ou H2O", "CO<sub>2</sub> ou <i>H</i><sub>2</sub>O"),
        ("x<sub>1</sub> and x<sub>2</sub>, x<sub>1</sub>", "x1 puis x2, x1", "x<sub>1</sub> puis x<sub>2</sub>, x<sub>1</sub>"),
        ("The Super<wbr>man there", "Là le Superman", "Là le Super<wbr>man"),
    ],
)  # fmt: skip
def test_a_tag_inside_a_word_stays_there(before: str, target: str, after: str) -> None:
    out = translate_document(f"<p>{before}</p>".encode(), ".html", translator(lambda text: target))
    assert out.data.decode() == f"<p>{after}</p>"
    assert out.warnings == []


def test_a_tag_around_a_word_with_one_inside_goes_with_its_words() -> None:
    class Aligned:
        text = "Maintenant bois H2O"
        # Drink, H2, O, now: what a model takes for a word need not be one.
        alignment = [
            Linked((0, 5), (11, 15)), Linked((6, 8), (16, 18)), Linked((8, 9), (18, 19)), Linked((10, 13), (0, 10)),
        ]  # fmt: skip

    before = b"<p><b>Drink H<sub>2</sub>O</b> now</p>"
    out = translate_document(before, ".html", lambda texts: [Aligned()]).data
    assert out == b"<p>Maintenant <b>bois H<sub>2</sub>O</b></p>"


def test_a_tag_inside_a_word_that_has_changed_goes_around_its_translation() -> None:
    answer = translator(lambda text: "Le 1er mai")
    out = translate_document(b"<p>May 1<sup>st</sup></p>", ".html", answer).data.decode()
    assert re.sub("</?sup>", "", out) == "<p>Le 1er mai</p>"
    assert re.search(r"<sup>\w+</sup>", out)
