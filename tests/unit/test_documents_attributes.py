"""What the attributes of HTML say to a reader is translated; every other byte of a tag stays."""

import html5lib
import pytest
from document_fixtures import HOSTILE, same, translator

from regard.documents import translate_document
from regard.search.passages import read_passages


def loud(text: str) -> str:
    return translate_document(text.encode(), ".html", translator(str.upper)).data.decode()


@pytest.mark.parametrize(
    "before, after",
    [
        ('<img src="a" alt="un chat" id=b>', '<img src="a" alt="UN CHAT" id=b>'),
        ("<p TITLE = 'un chat' lang=x>Oui</p>", "<p TITLE = 'UN CHAT' lang=x>OUI</p>"),
        ('<input placeholder="nom" name="nom">', '<input placeholder="NOM" name="nom">'),
        ('<button value="oui" aria-label="non">X</button>', '<button value="oui" aria-label="NON">X</button>'),
        ('<input type=SUBMIT value="oui">', '<input type=SUBMIT value="OUI">'),
        ('<input type="hidden" value="oui">', '<input type="hidden" value="oui">'),
        ('<meta name="description" content="oui">', '<meta name="description" content="OUI">'),
        ('<meta name="author" content="oui">', '<meta name="author" content="oui">'),
        ('<link rel="stylesheet" title="oui">', '<link rel="stylesheet" title="oui">'),
        ('<textarea placeholder="oui">non</textarea>', '<textarea placeholder="OUI">NON</textarea>'),
        ("<p>Un <b title=oui>chat</b> noir", '<p>UN <b title="OUI">CHAT</b> NOIR'),
        ('<p>Un <a href="?a=b&title=c" title="oui">chat', '<p>UN <a href="?a=b&title=c" title="OUI">CHAT'),
        ('<a href=?a=b/ title="oui">chat</a>', '<a href=?a=b/ title="OUI">CHAT</a>'),
        ('<a title="oui" title="non">chat</a>', '<a title="OUI" title="non">CHAT</a>'),
        ('<a :title="oui" data-title="oui">chat</a>', '<a :title="oui" data-title="oui">CHAT</a>'),
        ("<a title=it's>chat</a>", "<a title=it's>CHAT</a>"),
        ('<a title="<?= oui ?>">chat</a>', '<a title="<?= oui ?>">CHAT</a>'),
        ('<img alt="oui" translate="no"><b class="notranslate" title="oui">non</b>', '<img alt="oui" translate="no"><b class="notranslate" title="oui">non</b>'),
        ('<p>Un <img alt="oui"><!-- <img alt="oui"> --> chat <code><img alt="oui"></code>', '<p>UN <img alt="OUI"><!-- <img alt="oui"> --> CHAT <code><img alt="oui"></code>'),
        ('<p>Un <img alt="12"> et <img alt=""> chat', '<p>UN <img alt="12"> ET <img alt=""> CHAT'),
        ('<p title="oui">Un <b title="oui">chat', '<p title="OUI">UN <b title="OUI">CHAT'),
    ],
)  # fmt: skip
def test_only_what_is_said_to_a_reader_changes(before: str, after: str) -> None:
    assert loud(before) == after
    assert translate_document(before.encode(), ".html", same).data == before.encode()


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("value", ['"un chat"', "'un chat'", "chat"])
def test_whatever_the_model_says_stays_in_its_value(kind: str, value: str) -> None:
    for page in ("<p a=1 title={} id=x>Oui</p>", "<p>Un <b a=1 title={} id=x>chat</b></p>"):
        before = page.format(value)
        after = translate_document(before.encode(), ".html", translator(HOSTILE[kind])).data
        elements = [
            [(element.tag, [*element.keys()], element.get("id")) for element in tree.iter()]
            for tree in (
                html5lib.parse(each, namespaceHTMLElements=False)
                for each in (before, after.decode())
            )
        ]
        assert elements[0] == elements[1]


def test_signs_are_written_as_a_value_needs_them() -> None:
    def answer(text: str) -> str:
        return 'the "cat" & l\'été < 5'

    page = "<p title=\"oui\"></p><p title='oui'></p>"
    out = translate_document(page.encode(), ".html", translator(answer)).data.decode()
    written = html5lib.parse(out, namespaceHTMLElements=False).findall(".//p")
    assert [element.get("title") for element in written] == [answer("")] * 2
    assert "title=\"the &quot;cat&quot; &amp; l'été" in out


def test_a_search_reads_the_text_of_a_page_only() -> None:
    page = (
        '<p title="Bonjour">Un <img alt="non"> chat.</p><table><tr><th title="x y">Nom<th>Âge'
        '<tr><td title="Oh">Anne<td>12</table><input placeholder="nom">'
    )
    found = read_passages(page.encode(), ".html", len, 1000)
    assert [passage.text for passage in found] == ["Un chat.", "Nom: Anne; Âge: 12"]
