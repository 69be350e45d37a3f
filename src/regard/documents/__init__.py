"""Whole documents: segments out, translations back in, everything else byte for byte as it was."""

from regard.documents.document import (
    ARCHIVES,
    SUFFIXES,
    TranslatedDocument,
    TranslatedSegment,
    segment_texts,
    translate_document,
)
from regard.documents.languages import check_target, declared_languages
from regard.documents.memory import Memory
from regard.documents.rendering import TranslatedText

__all__ = [
    "ARCHIVES",
    "SUFFIXES",
    "Memory",
    "TranslatedDocument",
    "TranslatedSegment",
    "TranslatedText",
    "check_target",
    "declared_languages",
    "segment_texts",
    "translate_document",
]
