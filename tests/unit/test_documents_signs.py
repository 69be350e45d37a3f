"""What a sign is to a sentence: an & between words, the end of a line, a name before what is said, a tag in a word."""

import pytest
from document_fixtures import translator

from regard.documents import translate_document
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
