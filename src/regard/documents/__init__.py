"""Whole documents: segments out, translations back in, and everything else byte for byte as it was."""

from regard.documents.formats import SUFFIXES
from regard.documents.rendering import Translated
from regard.documents.translation import Document, Rendered, segment_texts, translate_document

__all__ = ["SUFFIXES", "Document", "Rendered", "Translated", "segment_texts", "translate_document"]
