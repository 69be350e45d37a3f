"""Verbs in the tenses of everyday French, and in the English that says the same."""

from __future__ import annotations

import re
from typing import NamedTuple

_VOWELS = "aâeéèêiîoôuœh"

# Of six persons the present; the participle; what the endings of the future follow.
_IRREGULAR = {
    "acheter": ("achète achètes achète achetons achetez achètent", "acheté", "achèter"),
    "apprendre": ("apprends apprends apprend apprenons apprenez apprennent", "appris", "apprendr"),
    "attendre": ("attends attends attend attendons attendez attendent", "attendu", "attendr"),
    "boire": ("bois bois boit buvons buvez boivent", "bu", "boir"),
    "choisir": ("choisis choisis choisit choisissons choisissez choisissent", "choisi", "choisir"),
    "conduire": (
        "conduis conduis conduit conduisons conduisez conduisent",
        "conduit",
        "conduir",
    ),
    "construire": (
        "construis construis construit construisons construisez construisent",
        "construit",
        "construir",
    ),
    "dire": ("dis dis dit disons dites disent", "dit", "dir"),
    "dormir": ("dors dors dort dormons dormez dorment", "dormi", "dormir"),
    "écrire": ("écris écris écrit écrivons écrivez écrivent", "écrit", "écrir"),
    "faire": ("fais fais fait faisons faites font", "fait", "fer"),
    "finir": ("finis finis finit finissons finissez finissent", "fini", "finir"),
    "lire": ("lis lis lit lisons lisez lisent", "lu", "lir"),
    "mettre": ("mets mets met mettons mettez mettent", "mis", "mettr"),
    "ouvrir": ("ouvre ouvres ouvre ouvrons ouvrez ouvrent", "ouvert", "ouvrir"),
    "perdre": ("perds perds perd perdons perdez perdent", "perdu", "perdr"),
    "prendre": ("prends prends prend prenons prenez prennent", "pris", "prendr"),
    "recevoir": ("reçois reçois reçoit recevons recevez reçoivent", "reçu", "recevr"),
    "vendre": ("vends vends vend vendons vendez vendent", "vendu", "vendr"),
    "voir": ("vois vois voit voyons voyez voient", "vu", "verr"),
}
_SUBJUNCTIVE = {"faire": "fass"}
# Past and participle.
_ENGLISH = {
    "break": "broke broken",
    "build": "built built",
    "buy": "bought bought",
    "choose": "chose chosen",
    "do": "did done",
    "draw": "drew drawn",
    "drink": "drank drunk",
    "drive": "drove driven",
    "eat": "ate eaten",
    "find": "found found",
    "forget": "forgot forgotten",
    "leave": "left left",
    "lose": "lost lost",
    "make": "made made",
    "meet": "met met",
    "read": "read read",
    "see": "saw seen",
    "sell": "sold sold",
    "sing": "sang sung",
    "sleep": "slept slept",
    "speak": "spoke spoken",
    "set": "set set",
    "swim": "swam swum",
    "take": "took taken",
    "tell": "told told",
    "win": "won won",
    "write": "wrote written",
}
_INDEFINITE = re.compile(r" (?:une? |du |des |de la |de l')")
_DOUBLED = ("forget", "set", "swim", "win")


class Verb(NamedTuple):
    """With what it is done to: `regarder la télé`, watch TV."""

    french: str
    object: str
    english: str
    english_object: str

    def denied(self) -> Verb:
        """With de for un, une and du, and any for some, as after ne … pas.

        >>> verb("acheter de l'eau", "buy some water").denied().object, verb("jouer du piano", "play").denied().object
        (" d'eau", ' du piano')
        """
        article = None if self.french == "jouer" else _INDEFINITE.match(self.object)
        if article is None:
            return self
        rest = self.object[article.end() :]
        return self._replace(
            object=f" {elided('de', rest)}",
            english_object=self.english_object.replace(" some ", " any "),
        )

    def present(self, person: int) -> str:
        return f"{_present(self.french)[person]}{self.object}"

    def participle(self) -> str:
        irregular = _IRREGULAR.get(self.french)
        return f"{irregular[1] if irregular else self.french[:-2] + 'é'}{self.object}"

    def infinitive(self) -> str:
        return f"{self.french}{self.object}"

    def imperfect(self, person: int) -> str:
        return f"{imperfect(self.french, person)}{self.object}"

    def future(self, person: int) -> str:
        ending = ("ai", "as", "a", "ons", "ez", "ont")[person]
        return f"{_future_stem(self.french)}{ending}{self.object}"

    def conditional(self, person: int) -> str:
        ending = ("ais", "ais", "ait", "ions", "iez", "aient")[person]
        return f"{_future_stem(self.french)}{ending}{self.object}"

    def subjunctive(self, person: int) -> str:
        return f"{subjunctive(self.french, person)}{self.object}"

    def base(self) -> str:
        return f"{self.english}{self.english_object}"

    def third(self) -> str:
        """What he or she does."""
        word = self.english
        if word.endswith("y") and word[-2] not in "aeou":
            word = f"{word[:-1]}ies"
        else:
            word += "es" if word.endswith(("s", "x", "ch", "sh", "o")) else "s"
        return f"{word}{self.english_object}"

    def past(self) -> str:
        return f"{_english_past(self.english)[0]}{self.english_object}"

    def done(self) -> str:
        return f"{_english_past(self.english)[1]}{self.english_object}"

    def doing(self) -> str:
        word = self.english
        if word in _DOUBLED:
            word += word[-1]
        elif word.endswith("e") and not word.endswith("ee"):
            word = word[:-1]
        return f"{word}ing{self.english_object}"


def verb(french: str, english: str) -> Verb:
    """
    >>> verb("prendre le bus", "take the bus").subjunctive(3), verb("manger", "eat").imperfect(3)
    ('prenions le bus', 'mangions')
    """
    word, space, rest = french.partition(" ")
    english_word, english_space, english_rest = english.partition(" ")
    return Verb(word, space + rest, english_word, english_space + english_rest)


def imperfect(french: str, person: int) -> str:
    """
    >>> imperfect("commencer", 0), imperfect("commencer", 3), imperfect("boire", 5)
    ('commençais', 'commencions', 'buvaient')
    """
    stem = _present(french)[3].removesuffix("ons")
    if person in (3, 4):
        stem = stem[:-1] if stem.endswith("ge") else stem.replace("ç", "c")
    return stem + ("ais", "ais", "ait", "ions", "iez", "aient")[person]


def subjunctive(french: str, person: int) -> str:
    """
    >>> subjunctive("boire", 2), subjunctive("boire", 4), subjunctive("faire", 3), subjunctive("finir", 0)
    ('boive', 'buviez', 'fassions', 'finisse')
    """
    stem = _SUBJUNCTIVE.get(french, _present(french)[5].removesuffix("ent"))
    if person in (3, 4):
        stem = _SUBJUNCTIVE.get(french, imperfect(french, 3).removesuffix("ions"))
    return stem + ("e", "es", "e", "ions", "iez", "ent")[person]


def elided(small: str, word: str) -> str:
    """
    >>> elided("je", "écoute"), elided("ne", "parle"), elided("que", "il")
    ("j'écoute", 'ne parle', "qu'il")
    """
    return f"{small[:-1]}'{word}" if word[0] in _VOWELS else f"{small} {word}"


def _present(french: str) -> list[str]:
    if french in _IRREGULAR:
        return _IRREGULAR[french][0].split()
    stem = french.removesuffix("er")
    before_o = {"g": f"{stem}e", "c": f"{stem[:-1]}ç"}.get(stem[-1], stem)
    return [f"{stem}e", f"{stem}es", f"{stem}e", f"{before_o}ons", f"{stem}ez", f"{stem}ent"]


def _future_stem(french: str) -> str:
    return _IRREGULAR[french][2] if french in _IRREGULAR else french


def _english_past(word: str) -> list[str]:
    if word in _ENGLISH:
        return _ENGLISH[word].split()
    if word.endswith("y") and word[-2] not in "aeou":
        past = f"{word[:-1]}ied"
    else:
        past = f"{word}d" if word.endswith("e") else f"{word}ed"
    return [past, past]
