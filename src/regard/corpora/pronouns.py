"""What stands for a thing or a person already named: le, la, les with their participle, lui, leur, y."""

from __future__ import annotations

from collections.abc import Iterator

from regard.corpora.nouns import Adjective, Noun, the
from regard.corpora.tables import Value, table

# Before a verb, before a vowel, and in English.
_TO = (
    ("me", "m'", "me"),
    ("te", "t'", "you"),
    ("lui", "lui ", "him"),
    ("lui", "lui ", "her"),
    ("nous", "nous ", "us"),
    ("vous", "vous ", "you"),
    ("leur", "leur ", "them"),
)
_HAVE = "j'ai=I;tu as=you;il a=he;elle a=she;nous avons=we;vous avez=you;ils ont=they;mon oncle a=my uncle"
_GAVE = (
    "donné=gave;montré=showed;envoyé=sent;prêté=lent;vendu=sold;apporté=brought;rendu=gave back;offert=gave;"
    "promis=promised;acheté=bought"
)
# With two pronouns English says it to me.
_GAVE_IT = "donné=gave it to;montré=showed it to;envoyé=sent it to;prêté=lent it to;vendu=sold it to;rendu=returned it to"
_DONE = (
    "trouvé=found;perdu=lost;vendu=sold;acheté=bought;oublié=forgot;pris=took;cassé=broke;vu=saw;"
    "réparé=repaired;choisi=chose;caché=hid"
)
_BY = "je=I;tu=you;il=he;elle=she;nous=we;vous=you;ils=they"
_HAVE_FORMS = {
    "je": "ai",
    "tu": "as",
    "il": "a",
    "elle": "a",
    "nous": "avons",
    "vous": "avez",
    "ils": "ont",
}
_PLACES = (
    "à la gare=to the station;au marché=to the market;à la plage=to the beach;au cinéma=to the movies;"
    "à l'école=to school;à la banque=to the bank;au restaurant=to the restaurant;à la poste=to the post office;"
    "chez le médecin=to the doctor's;à l'hôpital=to the hospital;au bureau=to the office;à la piscine=to the pool;"
    "à l'église=to church;chez ta tante=to your aunt's;au théâtre=to the theater;à Paris=to Paris;"
    "en ville=to town;à la campagne=to the country;à la fête=to the party;à la montagne=to the mountains"
)
_SAME = {"j'ai": "me", "tu as": "you", "nous avons": "us", "vous avez": "you"}
"""whom one does not give something: oneself"""


def pronouns(things: list[Noun]) -> dict[str, list[Value]]:
    """What fills each slot; its name is an example."""
    return {
        "he gave me": list(_given(_GAVE, "")),
        "he gave it to me": list(_given(_GAVE_IT, "l'")),
        "the key, I found it": [
            value for noun in things for value in _found(noun, is_denied=False)
        ],
        "the key, I did not find it": [
            value for noun in things for value in _found(noun, is_denied=True)
        ],
        "to the station": table(_PLACES),
    }


def _given(verbs: str, thing: str) -> Iterator[Value]:
    """Somebody gave somebody something; with `l'` something already named."""
    for have, who in table(_HAVE):
        subject, _, form = have.replace("j'", "je ").rpartition(" ")
        for done, english in table(verbs):
            for before, elided, whom in _TO:
                if whom == _SAME.get(have):
                    continue
                if not thing:
                    french = f"{subject} {elided}{form} {done}"
                elif before in ("lui", "leur"):
                    french = f"{subject} le {before} {form} {done}"
                else:
                    french = f"{subject} {before} l'{form} {done}"
                words = english.replace(" back", f" {whom} back")
                yield french, f"{who} {words}" if words != english else f"{who} {english} {whom}"


def _found(noun: Noun, *, is_denied: bool) -> Iterator[Value]:
    """A thing, or several of them, and then what happened to it: the participle agrees."""
    for done, english in table(_DONE):
        participle = Adjective(done, f"{done}e", english)
        for who, english_who in table(_BY):
            have = _HAVE_FORMS[who]
            for is_plural in (False, True):
                named = f"les {noun.plural}" if is_plural else the(noun)
                english_named = noun.english_plural if is_plural else noun.english
                it = "les " if is_plural else "l'"
                form = participle.form(noun, plural=is_plural)
                if is_denied:
                    french = f"{who} ne {it}{have} pas {form}"
                    said = f"{english_who} didn't {_BASE.get(english, english)}"
                else:
                    french, said = f"{who} {it}{have} {form}", f"{english_who} {english}"
                yield (
                    f"{named} ? {french[0].upper()}{french[1:]}",
                    f"the {english_named}? {said[0].upper()}{said[1:]} {'them' if is_plural else 'it'}",
                )


_BASE = dict(
    table(
        "found=find;lost=lose;sold=sell;bought=buy;forgot=forget;took=take;broke=break;saw=see;repaired=repair;"
        "chose=choose;hid=hide"
    )
)
