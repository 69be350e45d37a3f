"""Whole documents: segments out, translations back in, everything else byte for byte as it was."""

from regard.documents.document import SUFFIXES, TranslatedDocument, TranslatedSegment, segment_texts, translate_document
from regard.documents.rendering import TranslatedText

__all__ = [
    "SUFFIXES",
    "TranslatedDocument",
    "TranslatedSegment",
    "TranslatedText",
    "segment_texts",
    "translate_document",
]
