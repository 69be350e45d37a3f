"""What each format makes of a document, by hand: text, HTML, subtitles, catalogues, encodings, errors."""

import codecs
import re

import polib
import pytest
from document_fixtures import Answer, same, translator

from regard.documents.document import segment_texts, translate_document
from regard.documents.rendering import with_edges_of
from regard.errors import DataError, UsageError
from regard.text.words import Link

LANGUAGES = ("fr", "en")
CUE = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"
WORDS = {
    "Le chat noir dort.": "The black cat sleeps.", "Bonjour": "Hello", "Bonjour %s !": "Hello %s!",
    "Bonjour {{ x[0] }} !": "Hello {{ x[0] }}!", "Tom & Jerry": "Tom & Jerry", "Tapez ls ici": "Type ls here",
    "un chat": "a cat", "deux chats": "two cats", "Été chaud": "Hot summer",
    "Help & Support": "Aide et assistance", "Terms & Conditions": "Conditions & mentions",
}  # fmt: skip


def translate(text: str, suffix: str) -> str:
    document = translate_document(text.encode(), suffix, translator(WORDS.__getitem__))
    assert document.warnings == []
    return document.data.decode()


def loud(text: str, suffix: str = ".html") -> str:
    return translate_document(text.encode(), suffix, translator(str.upper)).data.decode()


@pytest.mark.parametrize(
    "suffix, before, after",
    [
        (".txt", "Bonjour\r\n\r\n  Bonjour  \n", "Hello\r\n\r\n  Hello  \n"),
        (".html", "<p>Le chat <b>noir</b> dort.</p>", "<p>The black <b>cat</b> sleeps.</p>"),
        (".html", "<p>Tapez <code>ls</code> ici", "<p>Type <code>ls</code> here"),
        (".md", "## Bonjour ##\n\n- un chat\n- deux chats\n", "## Hello ##\n\n- a cat\n- two cats\n"),
        (".md", "| Bonjour | un chat |\n|---|---|\n| deux chats | Bonjour |", "| Hello | a cat |\n|---|---|\n| two cats | Hello |"),
        (".md", "Bonjour {{ x[0] }} !\n", "Hello {{ x[0] }}!\n"),
        (".po", 'msgid "Bonjour %s !"\nmsgstr ""\n', 'msgid "Bonjour %s !"\nmsgstr "Hello %s!"\n'),
        (".po", 'msgid "un chat"\r\nmsgid_plural "deux chats"\r\nmsgstr[0] ""\r\nmsgstr[1] ""\r\n', 'msgid "un chat"\r\nmsgid_plural "deux chats"\r\nmsgstr[0] "a cat"\r\nmsgstr[1] "two cats"\r\n'),
        (".po", 'msgid "Tapez <code>ls</code> ici"\nmsgstr ""\n', 'msgid "Tapez <code>ls</code> ici"\nmsgstr "Type <code>ls</code> here"\n'),
        # Texts on both sides of a | have nothing to do with each other, and neither have labels.
        (".txt", "Bonjour | un chat\n", "Hello | a cat\n"),
        (".html", "<label>Bonjour *</label> <label>un chat<sup>®</sup></label>", "<label>Hello *</label> <label>a cat<sup>®</sup></label>"),
        # An & between words is one of them; in a page it is always a reference.
        (".md", "Help & Support\n", "Aide et assistance\n"),
        (".html", "<p>Terms & Conditions</p>", "<p>Conditions &amp; mentions</p>"),
    ],
)  # fmt: skip
def test_by_hand(suffix: str, before: str, after: str) -> None:
    assert translate(before, suffix) == after


def test_wrapped_lines_are_one_sentence_and_stay_wrapped() -> None:
    text = "Un texte qui continue sur une ligne bien longue, puis\nqui va encore plus loin."
    assert segment_texts(text.encode(), ".txt") == [text.replace("\n", " ")]
    assert loud(text, ".txt") == text.upper()
    assert segment_texts(b"Le chat dort\nsur la table\n", ".txt") == ["Le chat dort", "sur la table"]  # fmt: skip


CAT = {"Le": "The", "chat": "cat", "noir": "black", "dort": "sleeps"}


@pytest.mark.parametrize(
    "before, target, links, after",
    [
        ("Le chat <b>noir</b> dort.", "The black cat sleeps.", CAT, "The <b>black</b> cat sleeps."),
        ("Le <i>chat <b>noir</b></i> dort.", "The black cat sleeps.", CAT, "The <i><b>black</b> cat</i> sleeps."),
        ("Le chat noir <img src=a>dort.", "The black cat sleeps.", CAT, "The black cat <img src=a>sleeps."),
        # Signs stay on their side of a tag, whatever they are linked to.
        ("before <b>noon</b> on <i>Monday</i>.", "avant midi, lundi.", {"noon": "midi ,", "Monday": "lundi ."}, "avant <b>midi</b>, <i>lundi</i>."),
        ("<b>Mr</b> X, <i>7 h</i>, is here", "M. X, 7 p.m., est là", {"Mr": "M .", "7 h": "7 p m"}, "<b>M.</b> X, <i>7 p.m.</i>, est là"),
        ("<b>The</b> friend till <i>then</i>", "L'ami jusqu'alors", {"The": "L", "friend": "' ami", "till": "jusqu", "then": "alors"}, "<b>L'</b>ami jusqu'<i>alors</i>"),
        # A quotation mark is in the tag with its partner; what the source has at the end of a tag stays there.
        ("<b>« Oui »</b>, dit Al.", '"Yes," said Al.', {"Oui": "Yes", "dit": "said", "Al": "Al"}, '<b>"Yes,"</b> said Al.'),
        ("“<b>Stop!</b>” says Al.", '"Halte !" dit Al.', {"Stop": "Halte", "says": "dit", "!": '!'}, '"<b>Halte !</b>" dit Al.'),
        ("Le <i>conte « A »</i> dort.", 'The "A" tale sleeps.', {"conte": "tale", "A": "A", "dort": "sleeps"}, 'The <i>"A" tale</i> sleeps.'),
        ("<b>Save…</b> now", "Garder... donc", {"Save": "Garder", "now": "donc"}, "<b>Garder...</b> donc"),
        ("The 21<sup>st</sup> day", "Le 21ème jour", {"21st": "21ème", "day": "jour"}, "Le 21<sup>ème</sup> jour"),
        ("A <i>ne</i><b>w</b> day", "Un nouveau jour", {"new": "nouveau", "day": "jour"}, "Un <i>nouveau</i><b></b> jour"),
        ("Qu'<i>est-ce que</i> tu dis ?", "What do you say?", {"Qu": "What", "tu": "you", "dis": "say"}, "What do <i>you</i> say?"),
        ("he said <b>softly</b>.", "dit-il.", {"softly": "."}, None),
    ],
)  # fmt: skip
def test_links_decide_where_a_tag_goes_and_signs_stay_on_their_side(
    before: str, target: str, links: dict[str, str], after: str | None
) -> None:
    source = re.sub("<.*?>", "", before)
    pairs = [(a, b) for old, new in links.items() for a in spans(old, source) for b in spans(new, target)]
    found = [Link(*pair, 1.0) for pair in pairs]
    out = translate_document(before.encode(), ".html", lambda texts: [Answer(target, found)] * len(texts))
    assert out.data.decode() == after if after else "in parts" in out.warnings[0]


def spans(words: str, text: str) -> list[tuple[int, int]]:
    return [(text.index(word), text.index(word) + len(word)) for word in words.split()]


@pytest.mark.parametrize(
    "before, shown, target, after",
    [
        ("An area of 5 m<sup>2</sup> here", "An area of 5 m here", "Ici 5 m de surface", "Ici 5 m<sup>2</sup> de surface"),
        ("Be <i>H</i><sub>2</sub>O or CO<sub>2</sub>", "Be H2O or CO2", "CO2 ou H2O", "CO<sub>2</sub> ou <i>H</i><sub>2</sub>O"),
        ("May 1<sup>st</sup>", "May 1st", "Le 1er mai", "Le 1er <sup>mai</sup>"),
        ("Mark it with <b>*</b> now", "Mark it with {1} now", "Le {1} est là", "Le <b>*</b> est là"),
        ("Click <img> now.", "Click {1} now.", "Maintenant {1}, cliquez.", "Maintenant <img>, cliquez."),
        ("One<img>two three", "One {1} two three", "Un {1} deux trois", "Un<img>deux trois"),
        ("Our shop<sup><a>[2]</a></sup> is here", "Our shop is here", "Ici shop est", "Ici shop<sup><a>[2]</a></sup> est"),
        ("<a>@<b>alice</b></a>, thanks", "@alice, thanks", "Merci, @alice !", "Merci, <a>@<b>alice</b></a>"),
    ],
)  # fmt: skip
def test_objects_notes_mentions_and_parts_of_words_are_units(before: str, shown: str, target: str, after: str) -> None:
    out = translate_document(before.encode(), ".html", translator({shown: target}.__getitem__))
    assert out.data.decode() == after and out.warnings == []


def test_front_matter_and_titles_of_markdown_and_overlapping_tags() -> None:
    text = "---\ntitle: Le chat\nlayout: page\n---\n[Un lien](u \"Son titre\") et ![une image](a.png 'Oh').\n"
    assert loud(text, ".md") == text.replace("Le chat", "LE CHAT").replace("Un lien", "UN LIEN").replace(
        "Son titre", "SON TITRE"
    ).replace(" et ", " ET ").replace("une image", "UNE IMAGE").replace("Oh", "OH")
    colon = translate_document(b"---\ntitle: Un\n---\n", ".md", translator(lambda text: 'A: "b"')).data
    assert colon == b'---\ntitle: "A: \\"b\\""\n---\n'
    source = 'Un <bx id="1"/>deux <bx id="2"/>trois<ex id="1"/> quatre<ex id="2"/>'
    text = f'<xliff version="1.2"><file><trans-unit><source>{source}</source></trans-unit></file></xliff>'
    target = 'UN <bx id="1"/>DEUX <bx id="2"/>TROIS<ex id="1"/> QUATRE<ex id="2"/>'
    assert f"<target>{target}</target>" in loud(text, ".xliff")


def test_a_lost_placeholder_keeps_its_place_and_words_left_out_are_translated_alone() -> None:
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
    po = translate_document(b'#: a.c\nmsgid "Oui %s"\nmsgstr ""\n', ".po", loses)
    assert po.data == b'#: a.c\n#, fuzzy\nmsgid "Oui %s"\nmsgstr "OUI %s"\n'
    answers = {"Grand, second et chat": "big cat", "Grand, {1} et chat": "big {1} cat", "second": "second one"}
    links = [Link((0, 5), (0, 3), 1.0), Link((len("Grand, second et "), 21), (4, 7), 1.0)]
    page = b"Grand, <b>second</b> et chat"
    out = translate_document(page, ".html", lambda texts: [Answer(answers[text], links) for text in texts])
    assert out.data == b"Big <b>second one</b> cat" and "in parts" in out.warnings[0]
    # The full stop of p.m. is the sentence's as well; the tags around a lost one keep it; no word becomes nothing.
    answers = {"Venez à 17 h.": "Come.", "Venez {1}.": "Come {1}.", "à 17 h": "at 5 p.m."}
    for page in ("Venez <b>à 17 h</b>.", "Venez <b>à <i>17 h</i></b>."):
        out = translate_document(
            page.encode(), ".html", lambda texts: [Answer(answers[text], links[:1]) for text in texts]
        )
        assert re.sub("</?i>", "", out.data.decode()) == "Come <b>at 5 p.m.</b>"
    assert translate_document(b"At", ".txt", translator(lambda text: "")).data == b"At"


FRENCH = {
    "Open": "Ouvrir", "Save As…": "Enregistrer sous…", "Quit %s": "Quitter %s.", "R&D": "R&D", "Bold": "Gras :",
    "a file": "un fichier", "%d files": "%d fichiers",
}  # fmt: skip


def catalogue(text: str) -> polib.POFile:
    answer = translator(FRENCH.__getitem__)
    document = translate_document(text.encode(), ".po", answer, languages=("en", "fr"))
    assert document.warnings == []
    return polib.pofile(document.data.decode())


def test_a_catalogue_keeps_its_keyboard_letters_spaces_and_edges() -> None:
    expected = {
        "&Open": "&Ouvrir", "Save &As…": "&Enregistrer sous…", "&Quit %s": "&Quitter %s", "R&D": "R&D",
        "<b>&Bold</b>": "<b>&Gras</b>", "Open": "Ouvrir", "  &Open ": "  &Ouvrir ", "\\nOpen\\n": "\nOuvrir\n",
    }  # fmt: skip
    assert with_edges_of("Name:", "Nom", "fr")[0] == "Nom :"
    assert with_edges_of("« Viens ! »", "Come!", "en")[0] == "Come!"
    found = catalogue("\n".join(f'msgid "{label}"\nmsgstr ""\n' for label in expected))
    assert [entry.msgstr for entry in found] == list(expected.values())


def test_each_speaker_is_translated_alone() -> None:
    for cue in ("JEAN : Quoi ?\n|MARIE : Rien.", "John: What\nis it?\n|Mary Ann: Nothing.", "[Door]\n|So we\nleave"):
        texts = [" ".join(said.split()) for said in cue.split("|")]
        assert segment_texts(CUE.format(cue.replace("|", "")).encode(), ".srt") == texts


@pytest.mark.parametrize(
    "before, after",
    [
        ("<p TITLE = 'un chat' lang=x>Oui</p>", "<p TITLE = 'UN CHAT' lang=x>OUI</p>"),
        ('<input type=SUBMIT value="oui">', '<input type=SUBMIT value="OUI">'),
        ('<meta name="description" content="oui">', '<meta name="description" content="OUI">'),
        ("<p>Un <b title=oui>chat</b> noir", "<p>UN <b title=oui>CHAT</b> NOIR"),
        ('<p>Un <a href="?a=b&title=c" title="oui">chat', '<p>UN <a href="?a=b&title=c" title="OUI">CHAT'),
        ('<a title="<?= oui ?>">chat</a>', '<a title="<?= oui ?>">CHAT</a>'),
        ('<img alt="oui" translate="no"><b class="notranslate" title="oui">non</b>', '<img alt="oui" translate="no"><b class="notranslate" title="oui">non</b>'),
        ('<p>Un <img alt="oui"><!-- <img alt="oui"> --> chat <code><img alt="oui"></code>', '<p>UN <img alt="OUI"><!-- <img alt="oui"> --> CHAT <code><img alt="oui"></code>'),
    ],
)  # fmt: skip
def test_only_what_readers_see_changes(before: str, after: str) -> None:
    assert loud(before) == after
    assert translate_document(before.encode(), ".html", same).data == before.encode()


def test_a_page_declares_its_new_language_and_what_is_translated_stays() -> None:
    page = '<html class="fr" lang="fr-FR" xml:lang=\'fr\'><p lang="fr">Oui</p></html>'
    out = translate_document(page.encode(), ".html", translator(str.upper), languages=LANGUAGES)
    assert out.data.decode() == '<html class="fr" lang="en" xml:lang=\'en\'><p lang="fr">OUI</p></html>'
    out = translate_document(page.encode(), ".html", translator(str.upper), languages=("de", "en"))
    assert out.data.decode() == page.replace("Oui", "OUI")
    po = b'msgid "Oui"\nmsgstr "Yes"\n'
    assert translate_document(po, ".po", translator(str.upper)).data == po
    tmx = b'<tmx><tu><tuv xml:lang="fr"><seg>Oui</seg></tuv><tuv xml:lang="en-GB"><seg>Yes</seg></tuv></tu></tmx>'
    assert translate_document(tmx, ".tmx", translator(str.upper), languages=LANGUAGES).data == tmx
    tmx = b'<tmx><tu><tuv xml:lang="de"><seg>Ja</seg></tuv></tu></tmx>'
    document = translate_document(tmx, ".tmx", same, languages=LANGUAGES)
    assert document.data == tmx and document.warnings == ["1 unit(s) have no text in fr"]


@pytest.mark.parametrize(
    "suffix, text, encoding",
    [
        (".html", '<meta charset="iso-8859-1"><p>Été</p>', "iso-8859-1"),
        (".tmx", '<?xml version="1.0" encoding="windows-1252"?><tmx>Été</tmx>', "cp1252"),
        (".po", 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-15\\n"\nmsgid "Été"\nmsgstr "x"\n', "iso-8859-15"),
    ],
)  # fmt: skip
def test_a_declared_encoding_is_kept(suffix: str, text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert translate_document(data, suffix, same, languages=LANGUAGES).data == data


def test_encodings() -> None:
    marks = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le"}
    for mark, encoding in marks.items():
        data = mark + "Été\r\n".encode(encoding)
        assert translate_document(data, ".txt", translator(str.upper)).data == mark + "ÉTÉ\r\n".encode(encoding)
    cat, page = translator(lambda text: "猫"), b'<meta charset="ascii"><p>%s</p>'
    assert translate_document(page % b"chat", ".html", cat).data == page % b"&#29483;"
    document = translate_document(b"chat", ".txt", cat, encoding="latin-1")
    assert document.data == b"?"
    assert document.warnings == ["1 character(s) have no place in latin-1: ? stands there"]
    with pytest.raises(DataError, match="must be utf-8 text: line 2 holds a byte that is not; name its"):
        translate_document("a\né".encode("latin-1"), ".txt", same)
    with pytest.raises(DataError, match="must be text: got binary data, such as"):
        translate_document(b"PK\3\4\0\xff", ".txt", same, encoding="latin-1")
    assert translate_document(b"\xe9", ".txt", same, encoding="latin-1").data == b"\xe9"
    for encoding in ("no-such", "zlib"):
        with pytest.raises(UsageError, match=f"must be one that Python knows: got '{encoding}'"):
            translate_document(b"a", ".txt", same, encoding=encoding)


def test_what_is_no_document() -> None:
    message = r"got \.tmxx \(did you mean '\.tmx'\?\); translate it line"
    with pytest.raises(UsageError, match=message):
        translate_document(b"", ".tmxx", same)
    with pytest.raises(DataError, match="line 2 of the catalogue must be a comment, a field"):
        translate_document(b'msgid "a"\nnonsense\n', ".po", same)
    document = translate_document(b"Bonjour", ".srt", same)
    assert document.data == b"Bonjour" and document.warnings[0].startswith("no subtitle was found")


@pytest.mark.parametrize(
    "text, message",
    [
        ('<!DOCTYPE t [<!ENTITY a "b">]><tmx>&a;</tmx>', "must declare no entities of its own"),
        ("<tmx>" + "<a>" * 1_000_000, "must be nested at most 500 deep"),
        ("<tmx><a></tmx>", "must be well-formed XML: mismatched tag in line 1"),
        ("", "must be well-formed XML: no element found"),
        ("<html/>", "the outermost element must be <tmx>: got <html>"),
    ],
)
def test_hostile_xml_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        translate_document(text.encode(), ".tmx", same, languages=LANGUAGES)
