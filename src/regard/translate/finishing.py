"""What is put right in the translation of a sentence after it is found: names, ordinals, a stop that nobody asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from regard.text.kept import Stretch
from regard.text.ordinals import Ordinals
from regard.translate.naming import Naming
from regard.translate.numbering import Numbering
from regard.translate.translation import Sentence, without_added_stop
from regard.translate.wishes import Request


class Finishing:
    """The last look at each sentence of a call."""

    def __init__(
        self,
        sentences: Callable[[Sequence[str], Sequence[int]], list[Sentence]],
        find: Callable[[str], list[Stretch]],
        request: Request,
        languages: tuple[str, str],
    ) -> None:
        """sentences: what is found for some, from them and the numbers of their draws; find: what is kept of one."""

        def search(text: str) -> Sentence:
            [found] = sentences([text], [0])
            return found

        self._naming = Naming(search, find, request)
        self._numbering = Numbering(search, request, Ordinals(*languages))

    def finished(self, found: Sentence) -> Sentence:
        named = self._naming.with_names(found)
        return without_added_stop(self._numbering.with_ordinals(named))
