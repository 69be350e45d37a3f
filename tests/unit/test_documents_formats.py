"""What each format makes of a document, by hand."""

import codecs
from itertools import islice

import pytest
from document_fixtures import Answer, same, translator

from regard.documents import translate_document
from regard.documents.rendering import _free_names
from regard.errors import DataError, UsageError

LANGUAGES = ("fr", "en")

WORDS = {
    "Le chat noir dort.": "The black cat sleeps.",
    "Bonjour": "Hello",
    "Bonjour %s !": "Hello %s!",
    "Bonjour {{ x[0] }} !": "Hello {{ x[0] }}!",
    "Tom & Jerry": "Tom & Jerry",
    "Tapez ls ici": "Type ls here",
    "un chat": "a cat",
    "deux chats": "two cats",
    "Été chaud": "Hot summer",
}


def known(text: str) -> str:
    return WORDS[text]


def translate(text: str, suffix: str) -> str:
    document = translate_document(text.encode(), suffix, translator(known), languages=LANGUAGES)
    assert document.warnings == []
    return document.data.decode()


@pytest.mark.parametrize(
    "suffix, before, after",
    [
        (".txt", "Bonjour\r\n\r\n  Bonjour  \n", "Hello\r\n\r\n  Hello  \n"),
        (".html", "<p>Le chat <b>noir</b> dort.</p>", "<p>The black <b>cat</b> sleeps.</p>"),
        (".html", "<p><b>Bonjour</b>\n</p>", "<p><b>Hello</b>\n</p>"),
        (".html", "<title>Bonjour</title><p>Tom &amp; Jerry", "<title>Hello</title><p>Tom &amp; Jerry"),
        (".html", "<p>Tapez <code>ls</code> ici", "<p>Type <code>ls</code> here"),
        (".html", "<p>&Eacute;t&eacute; chaud", "<p>Hot summer"),
        (".html", "<div>Bonjour <code>ls</div>Bonjour", "<div>Hello <code>ls</div>Bonjour"),
        (".htm", "<script>Bonjour</script><!-- Bonjour -->", "<script>Bonjour</script><!-- Bonjour -->"),
        (".md", "## Bonjour ##\n\n- un chat\n- deux chats\n", "## Hello ##\n\n- a cat\n- two cats\n"),
        (".md", "> Le chat\n> noir dort.\n", "> The black\n> cat sleeps.\n"),
        (".md", "a\n\n    Bonjour\n".replace("a", "Bonjour", 1), "Hello\n\n    Bonjour\n"),
        (".md", "| Bonjour | un chat |\n|---|---|\n| deux chats | Bonjour |", "| Hello | a cat |\n|---|---|\n| two cats | Hello |"),
        (".md", "Tapez `ls` ici\n", "Type `ls` here\n"),
        (".md", "un chat <!-- " + "Bonjour " * 150 + "-->\n", "a cat <!-- " + "Bonjour " * 150 + "-->\n"),
        (".md", "Tapez ``ls`` ici\n", "Type ``ls`` here\n"),
        (".md", "Bonjour {{ x[0] }} !\n", "Hello {{ x[0] }}!\n"),
        (".po", 'msgid "Bonjour %s !"\nmsgstr ""\n', 'msgid "Bonjour %s !"\nmsgstr "Hello %s!"\n'),
        (".po", 'msgid "un chat"\r\nmsgid_plural "deux chats"\r\nmsgstr[0] ""\r\nmsgstr[1] ""\r\n', 'msgid "un chat"\r\nmsgid_plural "deux chats"\r\nmsgstr[0] "a cat"\r\nmsgstr[1] "two cats"\r\n'),
        (".po", 'msgid "Bonjour\\nBonjour\\n"\nmsgstr ""\n', 'msgid "Bonjour\\nBonjour\\n"\nmsgstr ""\n"Hello\\n"\n"Hello\\n"\n'),
    ],
)  # fmt: skip
def test_by_hand(suffix: str, before: str, after: str) -> None:
    assert translate(before, suffix) == after


def test_wrapped_lines_are_one_sentence_and_stay_wrapped() -> None:
    lines = ["Un texte qui continue sur une ligne bien longue, puis", "qui va encore plus loin."]
    seen: list[str] = []

    def look(texts: list[str]) -> list[Answer]:
        seen.extend(texts)
        return [Answer(text.upper()) for text in texts]

    out = translate_document("\n".join(lines).encode(), ".txt", look).data.decode()
    assert seen == [" ".join(lines)]
    assert out == "\n".join(lines).upper()
    poem = b"Le chat dort\nsur la table\n"
    seen.clear()
    translate_document(poem, ".txt", look)
    assert seen == ["Le chat dort", "sur la table"]


def test_links_decide_where_a_tag_goes() -> None:
    class Linked:
        text = "The black cat sleeps."

        class Link:
            def __init__(self, source: tuple[int, int], target: tuple[int, int]) -> None:
                self.source, self.target = source, target

        alignment = [
            Link((0, 2), (0, 3)),
            Link((3, 7), (10, 13)),
            Link((8, 12), (4, 9)),
            Link((13, 17), (14, 20)),
            Link((17, 18), (20, 21)),
        ]

    def tagged(text: str) -> str:
        return translate_document(text.encode(), ".html", lambda texts: [Linked()]).data.decode()

    assert tagged("Le chat <b>noir</b> dort.") == "The <b>black</b> cat sleeps."
    assert tagged("Le <i>chat</i> <b>noir</b> dort.") == "The <b>black</b> <i>cat</i> sleeps."
    assert tagged("Le <i>chat <b>noir</b></i> dort.") == "The <i><b>black</b> cat</i> sleeps."
    assert tagged("Le chat noir <img src=a>dort.") == "The black cat <img src=a>sleeps."


def test_a_lost_placeholder_is_tried_as_a_name_and_then_kept_in_its_place() -> None:
    asked: list[list[str]] = []

    def loses(texts: list[str]) -> list[Answer]:
        asked.append(texts)
        return [Answer(text.replace("%s", "").replace("X1", "").upper()) for text in texts]

    document = translate_document(b"Bonjour %s, merci.", ".txt", loses)
    assert asked == [["Bonjour %s, merci."], ["Bonjour X1, merci."], ["Bonjour", ", merci."]]
    assert document.data == b"BONJOUR %s, MERCI."
    [warning] = document.warnings
    assert warning.startswith("1 segment(s) had to be translated in parts")
    assert document.segments[0].doubt and document.segments[0].source == "Bonjour %s, merci."


def test_a_doubtful_message_is_fuzzy() -> None:
    lost = translator(lambda text: text.replace("%s", "").replace("X1", ""))
    document = translate_document(b'#: a.c\nmsgid "Oui %s"\nmsgstr ""\n', ".po", lost)
    assert document.data == b'#: a.c\n#, fuzzy\nmsgid "Oui %s"\nmsgstr "Oui %s"\n'


def test_overlapping_tags_keep_their_order() -> None:
    text = '<xliff version="1.2"><file><trans-unit><source>Un <bx id="1"/>deux <bx id="2"/>trois<ex id="1"/> quatre<ex id="2"/></source></trans-unit></file></xliff>'
    document = translate_document(text.encode(), ".xliff", translator(str.upper))
    assert (
        '<target>UN <bx id="1"/>DEUX <bx id="2"/>TROIS<ex id="1"/> QUATRE<ex id="2"/></target>'
        in document.data.decode()
    )


def test_what_is_translated_already_stays() -> None:
    po = b'msgid "Oui"\nmsgstr "Yes"\n'
    assert translate_document(po, ".po", translator(str.upper)).data == po
    tmx = b'<tmx><tu><tuv xml:lang="fr"><seg>Oui</seg></tuv><tuv xml:lang="en-GB"><seg>Yes</seg></tuv></tu></tmx>'
    document = translate_document(tmx, ".tmx", translator(str.upper), languages=LANGUAGES)
    assert document.data == tmx


def test_a_memory_says_what_lacks_its_source() -> None:
    tmx = b'<tmx><tu><tuv xml:lang="de"><seg>Ja</seg></tuv></tu></tmx>'
    document = translate_document(tmx, ".tmx", same, languages=LANGUAGES)
    assert document.data == tmx and document.warnings == ["1 unit(s) have no text in fr"]


# --- encodings


@pytest.mark.parametrize(
    "suffix, text, encoding",
    [
        (".html", '<meta charset="iso-8859-1"><p>Été</p>', "iso-8859-1"),
        (".tmx", '<?xml version="1.0" encoding="windows-1252"?><tmx>Été</tmx>', "cp1252"),
        (".po", '"Content-Type: text/plain; charset=ISO-8859-15\\n"\nmsgid "Été"\nmsgstr "x"\n'.replace('"C', 'msgid ""\nmsgstr "C', 1), "iso-8859-15"),
    ],
)  # fmt: skip
def test_a_declared_encoding_is_kept(suffix: str, text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert translate_document(data, suffix, same, languages=LANGUAGES).data == data


@pytest.mark.parametrize("mark, encoding", [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")])  # fmt: skip
def test_a_mark_of_the_encoding_is_kept(mark: bytes, encoding: str) -> None:
    data = mark + "Été\r\n".encode(encoding)
    out = translate_document(data, ".txt", translator(str.upper)).data
    assert out == mark + "ÉTÉ\r\n".encode(encoding)


def test_a_character_that_the_encoding_lacks() -> None:
    page = b'<meta charset="ascii"><p>chat</p>'
    out = translate_document(page, ".html", translator(lambda text: "猫")).data
    assert out == b'<meta charset="ascii"><p>&#29483;</p>'
    document = translate_document(
        b"chat", ".txt", translator(lambda text: "猫"), encoding="latin-1"
    )
    assert document.data == b"?"
    assert document.warnings == ["1 character(s) have no place in latin-1: ? stands there"]


def test_bytes_of_another_encoding_are_named() -> None:
    with pytest.raises(DataError, match="must be utf-8 text: got another byte in line 2; name its"):
        translate_document("a\né".encode("latin-1"), ".txt", same)
    assert (
        translate_document("é".encode("latin-1"), ".txt", same, encoding="latin-1").data == b"\xe9"
    )
    with pytest.raises(UsageError, match="must be one that Python knows: got 'no-such'"):
        translate_document(b"a", ".txt", same, encoding="no-such")
    with pytest.raises(UsageError, match="must be one that Python knows: got 'zlib'"):
        translate_document(b"a", ".txt", same, encoding="zlib")


# --- what is no document


def test_an_unknown_suffix() -> None:
    with pytest.raises(
        UsageError, match=r"got \.tmxx \(did you mean '\.tmx'\?\); translate it line"
    ):
        translate_document(b"", ".tmxx", same)


@pytest.mark.parametrize(
    "text, message",
    [
        ('<!DOCTYPE t [<!ENTITY a "b">]><tmx>&a;</tmx>', "must declare no entities of its own"),
        ('<!DOCTYPE t [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx>&a;</tmx>', "must declare no entities"),
        ("<tmx>" + "<a>" * 1_000_000, "must be nested at most 500 deep"),
        ("<tmx><a></tmx>", "must be well-formed XML: mismatched tag in line 1"),
        ("", "must be well-formed XML: no element found"),
        ("<tmx>&undefined;</tmx>", "must be well-formed XML: undefined entity"),
        ("<html/>", "the outermost element must be <tmx>: got <html>"),
    ],
)  # fmt: skip
def test_hostile_xml_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        translate_document(text.encode(), ".tmx", same, languages=LANGUAGES)


def test_a_broken_catalogue_is_named() -> None:
    with pytest.raises(DataError, match="line 2 of the catalogue must be a comment, a field"):
        translate_document(b'msgid "a"\nnonsense\n', ".po", same)


def test_a_file_without_subtitles_says_so() -> None:
    document = translate_document(b"Bonjour", ".srt", same)
    assert document.data == b"Bonjour" and document.warnings[0].startswith("no subtitle was found")


def test_stand_ins_are_not_in_the_text_already() -> None:
    assert list(islice(_free_names("X1 X23 aX4b X"), 4)) == ["X3", "X5", "X6", "X7"]
    assert next(_free_names("X" + "1" * 100_000)) == "X2"
