"""The languages that a document declares: its own, and the one it is to be translated into."""

import re

from regard.documents.plain import decode
from regard.documents.segments import Languages
from regard.errors import DataError
from regard.text.language import main_language

_NUM_FIRST = 100_000  # characters in which a file declares its languages
_CODE = r"""\s*["']?([A-Za-z]{2,3}(?:[-_]\w{2,8})*)\b"""
_PAGE = (rf"(?is)<html\b[^>]*?\s(?:xml:)?lang\s*={_CODE}", "")
_XLIFF = (
    rf"<(?:\w+:)?(?:xliff|file)\b[^>]*?\s(?:srcLang|source-language)={_CODE}",
    rf"<(?:\w+:)?(?:xliff|file)\b[^>]*?\s(?:trgLang|target-language)={_CODE}",
)
_DECLARATIONS = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), _PAGE),
    **dict.fromkeys((".po", ".pot"), ("", rf'(?m)^"Language:{_CODE}(?:[@.][\w.-]+)?\\n"')),
    **dict.fromkeys((".xliff", ".xlf"), _XLIFF),
    ".tmx": (rf"<header\b[^>]*?\ssrclang={_CODE}", ""),
    ".epub": (rf"<(?:\w+:)?language\b[^>]*>{_CODE}", ""),
}


def declared_languages(data: bytes, suffix: str, encoding: str | None = None) -> Languages:
    """The codes of both languages without countries; empty where the file says nothing."""
    if suffix not in _DECLARATIONS:
        return "", ""
    if suffix == ".epub":
        from regard.documents.office import read_members

        members = read_members(data, suffix).items()
        text = "".join(decode(content, ".xhtml").content for name, (content, _) in members if name.endswith(".opf"))
    else:
        text = decode(data, suffix, encoding).content
    source, target = (re.search(pattern, text[:_NUM_FIRST]) if pattern else None for pattern in _DECLARATIONS[suffix])
    return main_language(source[1]) if source else "", main_language(target[1]) if target else ""


def check_target(data: bytes, suffix: str, language: str, encoding: str | None = None) -> None:
    """A file that names its target language gets no other one."""
    wanted = declared_languages(data, suffix, encoding)[1]
    if wanted and language and wanted != main_language(language):
        raise DataError(
            f"the translation must be in {wanted}, as the file declares: got {language}; "
            f"name a model that writes {wanted}, or change the declaration"
        )
