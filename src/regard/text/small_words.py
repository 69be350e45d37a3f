"""English told by its small words, where a text is too short for a detector.

French needs no such list: what is in neither is read as French.
"""

from __future__ import annotations

import re

# Left out: what is a word of French too (an, but, do, if, mine, or), what French has taken over (good, happy, love, new, no),
# and names (May, Will).
_ENGLISH = frozenset(
    "the is are was were am been be being does did done has have had i'm i've i'll i'd you he she we they it "
    "you're he's she's it's we're they're that's what's there's let's your his her our their its my yours this "
    "that these those what where who why how when which of to from with without for at by into about and "
    "not don't doesn't didn't isn't aren't can't won't i yes please thanks thank very much many some any every "
    "never always there here now then would could should can must everyone everybody something nothing "
    "morning night today tomorrow yesterday birthday".split()
)
# Left out: what is a word of English too (comment, en, non, plus, pour, ton).
_FRENCH = frozenset(
    "le la les un une des du de je tu il elle nous vous ils elles et est sont suis sommes ont avons avez "
    "avoir mon ma mes ta tes sa ses notre votre nos vos leur leurs ce cette ces cet que qui quoi quand "
    "quel quelle quels quelles pourquoi pas ne jamais bien avec sans dans sur sous chez au aux si mais ou donc oui "
    "merci bonjour salut te se lui bon bonne beau belle bel grand grande nuit jour vive".split()
)
_FRENCH_SIGN = re.compile(r"[àâçèéêëîïôùûœ]|\b(?:[cdjlmnst]|qu)'(?=[aeiouyh])", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def are_english(text: str) -> bool:
    """Whether a text has small words of English, and nothing that looks French.

    >>> are_english("Hello, how are you?"), are_english("Tu as tort."), are_english("Quel but !")
    (True, False, False)
    """
    found = set(_TOKEN.findall(text.lower()))
    return bool(found & _ENGLISH) and not (found & _FRENCH or _FRENCH_SIGN.search(text))
