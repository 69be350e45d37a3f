"""Whole documents: segments out, translations back in, everything else byte for byte as it was."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.documents.document import translate_document as translate_document


def __getattr__(name: str) -> Any:
    """`translate_document` reads all formats, so it is imported when it is first used."""
    if name == "translate_document":
        from regard.documents.document import translate_document

        return translate_document
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
