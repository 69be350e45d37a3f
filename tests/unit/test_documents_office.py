"""Office files that LibreOffice wrote, translated, and opened by LibreOffice again; books; archives that are refused."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from document_fixtures import HOSTILE, Answer, same, translator
from office_fixtures import convert, make_document
from web_fixtures import zip_of

from regard.documents.document import segment_texts, translate_document
from regard.errors import DataError

WRITTEN = {
    ".docx": ("header1.xml", "footer1.xml", "footnotes.xml", "document.xml"),
    ".odt": ("styles.xml", "content.xml"),
    ".pptx": ("slide1.xml", "notesSlide1.xml"),
}
TEXT = [
    "Le petit journal", "Une page de la maison", "Le grand livre", "Une note sur le chat.", "Le chien", "Lundi matin",
    "Le chat noir dort sur la table rouge, dans la maison.", "Voir notre page aujourd'hui.", "Une autre ligne.",
    "Et une autre.", "Un texte dans un cadre.", "Autour du cadre.",
]  # fmt: skip
SLIDES = ["Le chat noir dort.", "Une note pour la page."]


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("suffix", WRITTEN)
def test_libreoffice_opens_the_translation_with_every_text(suffix: str, tmp_path: Path) -> None:
    data = make_document(suffix, tmp_path).read_bytes()
    wanted = SLIDES if suffix == ".pptx" else TEXT
    assert set(segment_texts(data, suffix)) == set(wanted)
    assert translate_document(data, suffix, same).data == data
    out = translate_document(data, suffix, translator(lambda text: f"{text[0]}{text[1:].upper()}"))
    before, after = members(data), members(out.data)
    changed = [name for name in before if before[name] != after[name]]
    assert list(before) == list(after) and {name.rpartition("/")[2] for name in changed} == set(WRITTEN[suffix])
    new = tmp_path / f"new{suffix}"
    new.write_bytes(out.data)
    again = convert(new, "fodp" if suffix == ".pptx" else "fodt", tmp_path)
    shown = "".join(ElementTree.parse(again).getroot().itertext())
    for text in wanted:
        # A note and its number stand inside of the paragraph.
        for part in (each for each in text.upper().split(", ") if each):
            assert part in shown.upper() and part[1:] in shown
    for kind, change in HOSTILE.items():
        hostile = translate_document(data, suffix, translator(change)).data
        for name, content in members(hostile).items():
            if name in changed:
                ElementTree.fromstring(content)
                assert content.count(b"<w:footnoteReference ") == before[name].count(b"<w:footnoteReference "), kind


def document(content: str, suffix: str = ".docx") -> bytes:
    name = "word/document.xml" if suffix == ".docx" else "content.xml"
    return zip_of({name: content.encode(), "picture.png": b"\x89PNG"})


def test_runs_keep_their_formats_fields_and_links() -> None:
    bold, plain = "<w:rPr><w:b/></w:rPr>", ""

    def run(text: str, format: str = plain) -> str:
        return f'<w:r>{format}<w:t xml:space="preserve">{text}</w:t></w:r>'

    field = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>'
    field += f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run("3")}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    # Word cuts runs anywhere and marks them for its spelling.
    cut = '<w:proofErr w:type="spellStart"/><w:r w:rsidR="1"><w:t xml:space="preserve">at </w:t></w:r>'
    link = f'<w:hyperlink r:id="r1">{run("page")}</w:hyperlink>'
    texts = f"{run('Le ch')}{cut}{run('noir', bold)}{run(' lit la ')}{link}{run(' ')}{field}{run('.')}"
    body = f"<w:p><w:pPr/>{texts}</w:p>"
    page = f'<w:document xmlns:w="w" xmlns:r="r"><w:body>{body}</w:body></w:document>'
    assert segment_texts(document(page), ".docx") == ["Le chat noir lit la page 3."]
    out = translate_document(document(page), ".docx", translator(lambda text: "The noir cat reads page 3."))
    new = members(out.data)["word/document.xml"].decode()
    texts = f"{run('The ')}{run('noir', bold)}{run(' cat reads ')}{link}{run(' ')}{field}{run('.')}"
    assert f"<w:p><w:pPr/>{texts}</w:p>" in new and out.warnings == []


def test_a_book_is_translated_with_its_contents_and_language() -> None:
    package = "<package><metadata><dc:title xmlns:dc='d'>Le livre</dc:title><dc:language xmlns:dc='d'>fr</dc:language></metadata></package>"
    page = '<html lang="fr"><body><p>Le <i>chat</i></p></body></html>'
    files = {"mimetype": "application/epub+zip", "a.opf": package, "b/one.xhtml": page}
    book = zip_of({name: content.encode() for name, content in files.items()})
    out = members(translate_document(book, ".epub", translator(str.upper), languages=("fr", "en")).data)
    assert out["mimetype"] == b"application/epub+zip"
    assert out["b/one.xhtml"] == b'<html lang="en"><body><p>LE <i>CHAT</i></p></body></html>'
    assert b">LE LIVRE<" in out["a.opf"] and b">en<" in out["a.opf"]


def twice() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive, pytest.warns(UserWarning, match="Duplicate"):
        for _ in range(2):
            archive.writestr("word/document.xml", "<a/>")
    return buffer.getvalue()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: document("<w:document>" + " " * (1 << 25)), "at most 32 MiB of text in a member"),
        (twice, "must have different names"),
        (lambda: b"PK", "must be a whole .docx file"),
        (lambda: document("<a/>")[:-30], "must be a whole .docx file"),
        (lambda: document("<a/>", ".odt"), "has no member with text"),
        (lambda: document('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'), "must declare no entities of its own"),
    ],
)
def test_a_hostile_archive_is_refused(make: Callable[[], bytes], message: str) -> None:
    with pytest.raises(DataError, match=message):
        translate_document(make(), ".docx", lambda texts: [Answer(text) for text in texts])
