"""Ordinals in digits that a translation has written wrongly, or as plain numbers, put right."""

from __future__ import annotations

from dataclasses import replace

from regard.text.ordinals import Ordinals, read_plainly
from regard.translate.naming import Search
from regard.translate.standing_in import corrected
from regard.translate.translation import Candidate, Sentence
from regard.translate.wishes import Request


class Numbering:
    """What was found for sentences, with their ordinals."""

    def __init__(self, search: Search, request: Request, ordinals: Ordinals) -> None:
        self._search, self._request, self._ordinals = search, request, ordinals

    def with_ordinals(self, found: Sentence) -> Sentence:
        """The same where nothing is wrong; where the model has lost one, what it finds for a plainer way to write it."""
        source = found.source
        if not self._ordinals.given(source) or self._request.places(source):
            return found
        found = self._corrected(found, source)
        plain = read_plainly(source) if self._ordinals.source[:2] == "en" else source
        if plain == source or not self._lacks(found) or self._request.decode.method == "sample":
            return found
        again = replace(self._corrected(self._search(plain), source), source=source)
        return found if self._lacks(again) or again.flags else again

    def _lacks(self, found: Sentence) -> bool:
        return self._ordinals.lacks(found.source, found.candidates[0].text)

    def _corrected(self, found: Sentence, source: str) -> Sentence:
        by_text: dict[str, Candidate] = {}
        for candidate in found.candidates:
            changes = self._ordinals.corrections(source, candidate.text)
            made = corrected(candidate, changes) if changes else candidate
            made = made if self._request.allows(made.text) else candidate
            by_text.setdefault(made.text, made)
        return replace(found, candidates=list(by_text.values()))
