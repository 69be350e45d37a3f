"""Surnames that a translation has changed, put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from regard.text.kept import Stretch
from regard.text.persons import Person, is_person, persons
from regard.translate.standing_in import View, corrected
from regard.translate.translation import Sentence
from regard.translate.wishes import Request

Search = Callable[[str], Sentence]
"""from a sentence to what is found for it"""


class Naming:
    """What was found for sentences, with the persons they name."""

    def __init__(
        self, search: Search, find: Callable[[str], list[Stretch]], request: Request
    ) -> None:
        """find: what is kept of a sentence by other means; with any of that it is left alone."""
        self._search, self._find, self._request = search, find, request

    def with_names(self, found: Sentence) -> Sentence:
        """The same where no name has changed; else what the model makes of one that it is sure to copy."""
        source, best = found.source, found.candidates[0].text
        if is_person(source) and best != source:
            whole = (0, len(best)), source
            return replace(found, candidates=[corrected(found.candidates[0], [whole])])
        changed = [each for each in persons(source) if each.is_changed_in(best)]
        request = self._request
        if not changed or request.decode.method == "sample" or request.places(source):
            return found
        if self._find(source):
            return found
        view = View(source, [_stretch(each) for each in changed])
        made = [view.written(each) for each in self._search(view.shown).candidates]
        right = [
            each if request.alignment else replace(each, alignment=None)
            for each in made
            if each and request.allows(each.text) and _has_all(each.text, changed)
        ]
        return replace(found, candidates=right) if right else found


def _stretch(person: Person) -> Stretch:
    return Stretch(person.span, person.surname, "person", "", person.surname)


def _has_all(text: str, named: list[Person]) -> bool:
    return all(f"{each.first} {each.surname}" in text for each in named)
