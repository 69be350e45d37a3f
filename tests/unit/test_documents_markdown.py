"""Markdown as an independent reader sees it, before and after: emphasis in emphasis, footnotes, meanings of terms."""

import re

import pytest
from document_fixtures import HOSTILE, Answer, same, translator
from markdown_it import MarkdownIt

from regard.documents.document import segment_texts, translate_document
from regard.text.words import Link

PARSER = MarkdownIt("commonmark").enable("table")


def translate(text: str, kind: str = "loud") -> str:
    return translate_document(text.encode(), ".md", translator(HOSTILE[kind])).data.decode()


@pytest.mark.parametrize("answer", ["a *b*", "[b](c)", "**a", "`b` c", "a < b", "_a_"])
def test_signs_of_a_translation_become_no_marks(answer: str) -> None:
    out = translate_document(b"bonjour tout le monde", ".md", translator(lambda text: answer)).data
    [paragraph] = [each for each in PARSER.parse(out.decode()) if each.type == "inline"]
    assert {each.type for each in paragraph.children or []} <= {"text", "text_special"}
    assert "".join(each.content for each in paragraph.children or []) == answer


def test_where_marks_would_be_lost_the_words_between_them_are_translated() -> None:
    apart = Answer("L'école", [Link((0, 3), (0, 2), 1.0), Link((4, 10), (2, 7), 1.0)])

    def answer(texts: list[str]) -> list[Answer]:
        return [apart if text == "The school" else Answer(text.upper()) for text in texts]

    # `**L'***école*` has no emphasis in it that anybody could read.
    document = translate_document(b"**The** *school*", ".md", answer)
    assert document.data == b"**THE** *SCHOOL*"
    assert document.warnings[0].startswith("1 segment(s) had to be translated in parts")


@pytest.mark.parametrize(
    "before, after",
    [
        ("[^1]: Un.\n[^deux]:   Deux\n", "[^1]: UN.\n[^deux]:   DEUX\n"),
        ("Chat\n\n:   Un animal\n    noir.\n\n    Et doux.\n", "CHAT\n\n:   UN ANIMAL\n    NOIR.\n\n    ET DOUX.\n"),
        ("un\\\ndeux  \ntrois\\\\\nquatre\n", "UN\\\nDEUX  \nTROIS\\\\\nQUATRE\n"),
        ("Un <b title='deux'>a</b> [b]\n\n> [b]: /u\n> 'trois'\n\n[c]: <> (Quatre)\n", "UN <b title='DEUX'>A</b> [b]\n\n> [b]: /u\n> 'trois'\n\n[c]: <> (QUATRE)\n"),
        ("1986\\. une année.\n\n\\- un clé\n\n- 1\\) bis (ou ter)\n", "1986\\. UNE ANNÉE.\n\n\\- UN CLÉ\n\n- 1\\) BIS (OU TER)\n"),
        ("[![Un](a)](b) ![Deux](c)\n", "[![UN](a)](b) ![DEUX](c)\n"),
    ],
)  # fmt: skip
def test_blocks_by_hand(before: str, after: str) -> None:
    document = translate_document(before.encode(), ".md", translator(str.upper))
    assert document.data.decode() == after and document.warnings == []
    assert translate_document(before.encode(), ".md", same).data == before.encode()


@pytest.mark.parametrize(
    "text, seen",
    [
        ("Voir ![un chat](x.png) ici.\n", ["Voir ici.", "un chat"]),
        ("> Voir ![un\n> *chat*](x.png), un chien!\n", ["Voir , un chien!", "un chat"]),
        ("| Voir ![un chat](x) |\n|---|\n| **![](x.png) deux** |\n", ["Voir", "un chat", "deux"]),
    ],
)  # fmt: skip
def test_what_is_said_of_an_image_is_no_part_of_the_sentence(text: str, seen: list[str]) -> None:
    assert translate_document(text.encode(), ".md", same).data.decode() == text
    assert list(dict.fromkeys(segment_texts(text.encode(), ".md"))) == seen
    loud = translate(text)
    assert loud.casefold() == text.casefold()
    assert re.findall("un|voir|chat|chien|deux|ici", loud) == []
    assert re.findall(r"[xy]\.png", loud) == re.findall(r"[xy]\.png", text)
