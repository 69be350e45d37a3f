"""A translation memory: a .tmx file whose exact matches are taken and into which new translations are written.

A unit that is written here keeps its word links as a property, so that tags find their words the next time as well.
"""

from html import escape as quote
from pathlib import Path
from typing import NamedTuple

from regard.documents.bilingual import tmx_items, variant
from regard.documents.document import Translate
from regard.documents.plain import DecodedText, decode, encode
from regard.documents.rendering import TranslatedText
from regard.documents.segments import Languages, shown
from regard.documents.xml import escape, parse
from regard.errors import DataError
from regard.files import write_file
from regard.text.words import Link

_LINKS = "x-regard-links"
_EMPTY = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header creationtool="regard" creationtoolversion="1" '
    'segtype="block" o-tmf="regard" adminlang="en" srclang="{}" datatype="plaintext"/><body>\n</body></tmx>\n'
)


class Remembered(NamedTuple):
    text: str
    alignment: list[Link] | None


class Memory:
    def __init__(self, path: Path, languages: Languages) -> None:
        self._path, self._languages = path, languages
        empty = _EMPTY.format(quote(languages[0]))
        self._file = decode(path.read_bytes(), ".tmx") if path.exists() else DecodedText(empty, "utf-8")
        try:
            root = parse(self._file.content, "tmx")
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        body = root.child("body")
        if body is None or body.inner == body.end:
            raise DataError(f"a translation memory must have a body: {path} has none; name another file")
        self._end = body.stop
        self._known: dict[str, Remembered] = {}
        self._new: dict[str, TranslatedText] = {}
        for unit in root.all("tu"):
            found = [each and each.child("seg") for each in (variant(unit, language) for language in languages)]
            links = next((each for each in unit.children if each.attributes.get("type") == _LINKS), None)
            if found[0] and found[1]:
                content = self._file.content
                source, target = ("".join(map(shown, tmx_items(content, each))) for each in found if each)
                self._known[source] = Remembered(target, _links(content[links.inner : links.stop]) if links else None)

    def __contains__(self, text: str) -> bool:
        return text in self._known

    def translate(self, texts: list[str], translate: Translate) -> list[TranslatedText]:
        """The texts that are known, and the others by the model."""
        missing = [text for text in texts if text not in self._known]
        new = dict(zip(missing, translate(missing), strict=True)) if missing else {}
        self._new |= {
            text: each for text, each in new.items() if each.text.strip() and not getattr(each, "in_parts", False)
        }
        return [new[text] if text in new else self._known[text] for text in texts]

    def save(self) -> None:
        """Write the new translations behind the others; the file is complete at every moment."""
        if self._new:
            before, after = self._file.content[: self._end], self._file.content[self._end :]
            content = before + "".join(map(self._unit, self._new, self._new.values())) + after
            write_file(self._path, encode(DecodedText(content, self._file.encoding, self._file.mark), ".tmx")[0])

    def _unit(self, source: str, target: TranslatedText) -> str:
        links = " ".join("{}-{}:{}-{}".format(*link.source, *link.target) for link in target.alignment or ())
        texts = zip(map(quote, self._languages), map(escape, (source, target.text)), strict=True)
        variants = "".join(f'<tuv xml:lang="{language}"><seg>{text}</seg></tuv>' for language, text in texts)
        return f'<tu><prop type="{_LINKS}">{links}</prop>{variants}</tu>\n'


def _links(text: str) -> list[Link]:
    pairs = ([tuple(map(int, span.split("-"))) for span in link.split(":")] for link in text.split())
    return [Link((source[0], source[1]), (target[0], target[1]), 1.0) for source, target in pairs]
