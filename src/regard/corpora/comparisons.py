"""Who is more, less or as much so than whom; and whom somebody misses or likes, which French turns round."""

from __future__ import annotations

from collections.abc import Iterator

from regard.corpora.tables import Value, table
from regard.corpora.verbs import elided

# Of a man, a woman, men or women, with the verb.
_WHO_IS = (
    "m je suis=I am;f je suis=I am;m tu es=you are;f tu es=you are;m il est=he is;f elle est=she is;"
    "mm nous sommes=we are;mm ils sont=they are;ff elles sont=they are;m mon frère est=my brother is;"
    "f ma sœur est=my sister is;f sa femme est=his wife is;m son mari est=her husband is;"
    "mm mes parents sont=my parents are;ff ses filles sont=his daughters are"
)
# Of a man and of a woman; more so, and so.
_SO = (
    "grand/grande=taller,tall;petit/petite=shorter,short;jeune/jeune=younger,young;vieux/vieille=older,old;"
    "riche/riche=richer,rich;pauvre/pauvre=poorer,poor;fort/forte=stronger,strong;gentil/gentille=nicer,nice;"
    "intelligent/intelligente=smarter,smart;rapide/rapide=faster,fast;lent/lente=slower,slow;"
    "heureux/heureuse=happier,happy;triste/triste=sadder,sad;têtu/têtue=more stubborn,stubborn;"
    "courageux/courageuse=braver,brave;paresseux/paresseuse=lazier,lazy;patient/patiente=more patient,patient;"
    "occupé/occupée=busier,busy;fatigué/fatiguée=more tired,tired;bavard/bavarde=more talkative,talkative;"
    "poli/polie=more polite,polite;timide/timide=shyer,shy;sérieux/sérieuse=more serious,serious"
)
_THAN = (
    "moi=me;toi=you;lui=him;elle=her;nous=us;vous=you;eux=them;elles=them;mon père=my father;sa sœur=his sister;"
    "ton frère=your brother;ma cousine=my cousin;les autres=the others;tout le monde=everyone"
)
_SAME = {"je": ("moi", "nous"), "tu": ("toi", "vous"), "nous": ("nous", "moi")}
"""with whom one is not compared"""

# The person that misses somebody; whom; and how both verbs are said of one and of several.
_MISSING = "me=I;te=you;lui=he;lui=she;nous=we;vous=you;leur=they"
_MISSED = (
    "0 je=me;1 tu=you;2 il=him;2 elle=her;3 nous=us;4 vous=you;5 ils=them;5 elles=them;2 ma mère=my mother;"
    "2 ton père=your father;5 mes amis=my friends;5 les enfants=the children;2 la mer=the sea;2 Paris=Paris;2 le soleil=the sun"
)
_LIKED = (
    "2 ce film=this movie;2 cette robe=this dress;2 cette maison=this house;2 ce livre=this book;2 cette idée=this idea;"
    "5 ces chaussures=these shoes;5 ces photos=these photos;2 la ville=the city;2 cette chanson=this song;2 ton cadeau=your present;"
    "5 les fleurs=the flowers;2 le spectacle=the show;2 ce restaurant=this restaurant"
)
_MISS = (
    ("manque manques manque manquons manquez manquent", "miss", "misses"),
    ("manquais manquais manquait manquions manquiez manquaient", "missed", "missed"),
    ("manquerai manqueras manquera manquerons manquerez manqueront", "will miss", "will miss"),
)
_LIKE = (
    ("plais plais plaît plaisons plaisez plaisent", "like", "likes"),
    ("plairai plairas plaira plairons plairez plairont", "will like", "will like"),
)
_ONESELF = {0: ("I", "we"), 1: ("you",), 3: ("I", "we"), 4: ("you",)}


def comparisons() -> dict[str, list[Value]]:
    """What fills each slot; its name is an example."""
    return {
        "he is taller than me": list(_compared()),
        "I miss him": list(_turned(_MISSED, _MISS)),
        "I like it": list(_turned(_LIKED, _LIKE)),
    }


def _compared() -> Iterator[Value]:
    for kind_and_who, english_is in table(_WHO_IS):
        kind, who, verb = kind_and_who.split(" ", 1)[0], *kind_and_who[2:].strip().rsplit(" ", 1)
        for forms, english in table(_SO):
            word = forms.split("/")["f" in kind]
            if len(kind) == 2 and word[-1] not in "sx":
                word += "s"
            more, so = english.split(",")
            for whom, english_whom in table(_THAN):
                if whom in _SAME.get(who, ()):
                    continue
                than = elided("que", whom)
                yield f"{who} {verb} plus {word} {than}", f"{english_is} {more} than {english_whom}"
                yield f"{who} {verb} aussi {word} {than}", f"{english_is} as {so} as {english_whom}"
                yield (
                    f"{who} {verb} moins {word} {than}",
                    f"{english_is} not as {so} as {english_whom}",
                )


def _turned(things: str, tenses: tuple[tuple[str, str, str], ...]) -> Iterator[Value]:
    """What is missed or liked is the subject in French."""
    for number_and_thing, english_thing in table(things):
        number, thing = int(number_and_thing[0]), number_and_thing[2:]
        for pronoun, who in table(_MISSING):
            if who in _ONESELF.get(number, ()):
                continue
            for forms, english, of_third in tenses:
                verb = of_third if who in ("he", "she") else english
                yield (
                    f"{thing} {pronoun} {forms.split()[number]}",
                    f"{who} {verb} {english_thing}",
                )
