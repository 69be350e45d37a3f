"""Things with their gender, and what French makes agree with it: articles, adjectives, participles."""

from __future__ import annotations

from typing import NamedTuple

from regard.corpora.tables import Value, table

_VOWELS = "aâeéèêiîoôuœh"
# Before these le and la keep their vowel.
_ASPIRATED = "hache haine haricot hasard hauteur hérisson héros hibou homard honte".split()
_WITH_AN = "hour uncle umbrella".split()

# Gender, singular and an irregular plural; in English the same.
_SMALL_THINGS = (
    "m livre=book;m stylo=pen;m sac=bag;m manteau/manteaux=coat;m chapeau/chapeaux=hat;m vélo=bike;"
    "m couteau/couteaux=knife/knives;m téléphone=phone;m parapluie=umbrella;m billet=ticket;m cahier=notebook;"
    "m pull=sweater;m verre=glass/glasses;m vase=vase;m tableau/tableaux=painting;m cadeau/cadeaux=present;m jouet=toy;"
    "m journal/journaux=newspaper;m ordinateur=computer;m collier=necklace;m oreiller=pillow;m gant=glove;"
    "f voiture=car;f chemise=shirt;f robe=dress/dresses;f jupe=skirt;f veste=jacket;f lampe=lamp;f clé=key;"
    "f montre=watch/watches;f valise=suitcase;f lettre=letter;f assiette=plate;f tasse=cup;f bouteille=bottle;"
    "f cravate=tie;f bague=ring;f photo=photo;f écharpe=scarf/scarves;f casquette=cap;f poupée=doll;f guitare=guitar;"
    "f chaussure=shoe;f botte=boot;f couverture=blanket;f serviette=towel;f fleur=flower;f carte=map;f horloge=clock"
)
_LARGE_THINGS = (
    "m fauteuil=armchair;m lit=bed;m tapis/tapis=rug;m rideau/rideaux=curtain;m tiroir=drawer;m miroir=mirror;"
    "m placard=cupboard;m bateau/bateaux=boat;m jardin=garden;m appartement=apartment;f maison=house;"
    "f chaise=chair;f table=table;f fenêtre=window;f porte=door;f échelle=ladder;f armoire=wardrobe;"
    "f étagère=shelf/shelves;f chambre=bedroom;f cuisine=kitchen"
)
_FOOD = (
    "m pain=bread;m lait=milk;m sucre=sugar;m sel=salt;m beurre=butter;m fromage=cheese;m riz=rice;m café=coffee;"
    "m thé=tea;m vin=wine;m miel=honey;m chocolat=chocolate;m poisson=fish;m jus d'orange=orange juice;f eau=water;"
    "f confiture=jam;f farine=flour;f viande=meat;f glace=ice cream;f soupe=soup;f huile=oil;f moutarde=mustard;"
    "f crème=cream;m argent=money"
)
_FRUIT = (
    "f pomme=apple;m œuf=egg;f tomate=tomato/tomatoes;f pomme de terre/pommes de terre=potato/potatoes;f orange=orange;"
    "f carotte=carrot;m oignon=onion;m citron=lemon;f fraise=strawberry/strawberries;f cerise=cherry/cherries;"
    "m champignon=mushroom;f noix/noix=nut;f assiette=plate;m verre=glass/glasses;f chaise=chair;m timbre=stamp"
)
# Of a man and of a woman; those that only stand behind the noun, then those that stand before it.
_BEHIND = (
    "neuf/neuve=new;cher/chère=expensive;sale/sale=dirty;propre/propre=clean;blanc/blanche=white;noir/noire=black;"
    "vert/verte=green;bleu/bleue=blue;rouge/rouge=red;gris/grise=gray;magnifique/magnifique=magnificent;"
    "trop petit/trop petite=too small;très vieux/très vieille=very old;assez grand/assez grande=big enough;"
    "moins cher/moins chère=cheaper;plus beau/plus belle=more beautiful"
)
_BEFORE = (
    "petit/petite=small;grand/grande=big;joli/jolie=pretty;beau/belle=beautiful;vieux/vieille=old;"
    "nouveau/nouvelle=new;mauvais/mauvaise=bad;gros/grosse=big;bon/bonne=good"
)
_BEFORE_A_VOWEL = {"beau": "bel", "vieux": "vieil", "nouveau": "nouvel"}
_DONE = (
    "volé/volée=stolen;vendu/vendue=sold;réparé/réparée=repaired;livré/livrée=delivered;"
    "détruit/détruite=destroyed;retrouvé/retrouvée=found;nettoyé/nettoyée=cleaned"
)
_CHOSEN = (
    "que j'ai acheté=I bought;que tu as choisi=you chose;qu'il a vendu=he sold;que nous avons perdu=we lost;"
    "que vous avez trouvé=you found;qu'elle a oublié=she forgot;que je t'ai donné=I gave you;que tu m'as prêté=you lent me;"
    "que j'ai vu=I saw;que ma mère m'a offert=my mother gave me;que j'ai pris=I took"
)
_MUCH = "beaucoup=a lot of;trop=too much;assez=enough;un peu=a little;plus=more;moins=less;tellement=so much"
_MANY = "beaucoup=a lot of;trop=too many;assez=enough;plus=more;moins=fewer;tellement=so many"


class Noun(NamedTuple):
    is_feminine: bool
    singular: str
    plural: str
    english: str
    english_plural: str

    @property
    def has_vowel(self) -> bool:
        return self.singular[0].lower() in _VOWELS and self.singular not in _ASPIRATED


class Adjective(NamedTuple):
    masculine: str
    feminine: str
    english: str

    def form(self, noun: Noun, plural: bool = False) -> str:
        word = self.feminine if noun.is_feminine else self.masculine
        if not plural or word[-1] in "sx":
            return word
        return word + ("x" if word.endswith("eau") else "s")


def agreement() -> dict[str, list[Value]]:
    """What fills each slot of a thing; the name of a slot is an example of it, or nearly."""
    small = small_things()
    things = [*small, *_nouns(_LARGE_THINGS)]
    return {
        **_determined(small, things),
        **_described(small, things),
        "it was sold": _inflected_for(small, _DONE, ("a été ", "was "), ("ont été ", "were ")),
        "the thing I bought": _inflected_for(small, _CHOSEN, ("", ""), ("", "")),
        **_amounts(_nouns(_FOOD), _nouns(_FRUIT)),
    }


def small_things() -> list[Noun]:
    return _nouns(_SMALL_THINGS)


def _determined(small: list[Noun], things: list[Noun]) -> dict[str, list[Value]]:
    """What stands before a noun and agrees with it."""
    return {
        "the thing": [(the(noun), f"the {noun.english}") for noun in small],
        "the things": [(f"les {noun.plural}", f"the {noun.english_plural}") for noun in small],
        "my thing": [(f"{_my(noun)} {noun.singular}", f"my {noun.english}") for noun in small],
        "my things": [(f"mes {noun.plural}", f"my {noun.english_plural}") for noun in small],
        "this thing": [
            (f"{_this(noun)} {noun.singular}", f"this {noun.english}") for noun in things
        ],
        "these things": [(f"ces {noun.plural}", f"these {noun.english_plural}") for noun in things],
        "which thing": [
            (f"{_inflected('quel', 'quelle', noun)} {noun.singular}", f"which {noun.english}")
            for noun in small
        ],
        "all the things": [
            (
                f"{_inflected('tous', 'toutes', noun)} {les} {noun.plural}",
                f"all {the} {noun.english_plural}",
            )
            for noun in small
            for les, the in (("les", "the"), ("mes", "my"), ("ces", "these"))
        ],
        "none of the things": [
            (
                f"{_inflected('aucun', 'aucune', noun)} de ces {noun.plural}",
                f"none of these {noun.english_plural}",
            )
            for noun in things
        ],
    }


def _described(small: list[Noun], things: list[Noun]) -> dict[str, list[Value]]:
    """Adjectives before a noun, behind it, and said of it."""
    behind, before = _adjectives(_BEHIND), _adjectives(_BEFORE)
    return {
        "it is new": [
            (
                f"{the(noun)} est {adjective.form(noun)}",
                f"the {noun.english} is {adjective.english}",
            )
            for noun in things
            for adjective in behind
        ],
        "they are new": [
            (
                f"les {noun.plural} sont {adjective.form(noun, plural=True)}",
                f"the {noun.english_plural} are {adjective.english}",
            )
            for noun in things
            for adjective in behind
        ],
        "a small thing": [
            (
                f"{_inflected('un', 'une', noun)} {_put_before(adjective, noun)}",
                an(f"{adjective.english} {noun.english}"),
            )
            for noun in small
            for adjective in before
        ],
        "small things": [
            (
                f"de {adjective.form(noun, plural=True)} {noun.plural}",
                f"{adjective.english} {noun.english_plural}",
            )
            for noun in small
            for adjective in before
        ],
        "a new thing": [
            (
                f"{_inflected('un', 'une', noun)} {noun.singular} {adjective.form(noun)}",
                an(f"{adjective.english} {noun.english}"),
            )
            for noun in small
            for adjective in behind[4:10]
        ],
    }


def _inflected_for(nouns: list[Noun], words: str, singular: Value, plural: Value) -> list[Value]:
    """Participles with one thing and with several; French and English of what stands before them."""
    return [
        value
        for noun in nouns
        for word in _adjectives(words)
        for value in (
            (
                f"{the(noun)} {singular[0]}{word.form(noun)}",
                f"the {noun.english} {singular[1]}{word.english}",
            ),
            (
                f"les {noun.plural} {plural[0]}{word.form(noun, plural=True)}",
                f"the {noun.english_plural} {plural[1]}{word.english}",
            ),
        )
    ]


def _amounts(food: list[Noun], fruit: list[Noun]) -> dict[str, list[Value]]:
    """Some bread and some apples, much and many of them, and none."""
    all_of_them = [
        *((noun, noun.singular, noun.english) for noun in food),
        *((noun, noun.plural, noun.english_plural) for noun in fruit),
    ]
    much, many = _adjectives(_MUCH), _adjectives(_MANY)
    return {
        "some food": [
            *((_some(noun), f"some {noun.english}") for noun in food),
            *((f"des {noun.plural}", f"some {noun.english_plural}") for noun in fruit),
        ],
        "of food": [(_de(noun, word), english) for noun, word, english in all_of_them],
        "much food": [
            *(
                (
                    f"{amount.masculine} {_de(noun, noun.singular)}",
                    f"{amount.english} {noun.english}",
                )
                for noun in food
                for amount in much
            ),
            *(
                (
                    f"{amount.masculine} {_de(noun, noun.plural)}",
                    f"{amount.english} {noun.english_plural}",
                )
                for noun in fruit
                for amount in many
            ),
        ],
    }


def _nouns(text: str) -> list[Noun]:
    found = []
    for french, english in table(text):
        singular, _, plural = french[2:].partition("/")
        one, _, several = english.partition("/")
        found.append(
            Noun(french[0] == "f", singular, plural or f"{singular}s", one, several or f"{one}s")
        )
    return found


def _adjectives(text: str) -> list[Adjective]:
    """Without a form of its own the feminine gets an e."""
    found = []
    for french, english in table(text):
        masculine, _, feminine = french.partition("/")
        found.append(Adjective(masculine, feminine or f"{masculine}e", english))
    return found


def _inflected(masculine: str, feminine: str, noun: Noun) -> str:
    return feminine if noun.is_feminine else masculine


def the(noun: Noun) -> str:
    if noun.has_vowel:
        return f"l'{noun.singular}"
    return f"{_inflected('le', 'la', noun)} {noun.singular}"


def _my(noun: Noun) -> str:
    return "ma" if noun.is_feminine and not noun.has_vowel else "mon"


def _this(noun: Noun) -> str:
    return _inflected("cet" if noun.has_vowel else "ce", "cette", noun)


def _some(noun: Noun) -> str:
    if noun.has_vowel:
        return f"de l'{noun.singular}"
    return f"de la {noun.singular}" if noun.is_feminine else f"du {noun.singular}"


def _de(noun: Noun, word: str) -> str:
    return f"d'{word}" if noun.has_vowel else f"de {word}"


def _put_before(adjective: Adjective, noun: Noun) -> str:
    word = adjective.form(noun)
    shorter = _BEFORE_A_VOWEL.get(word, word) if noun.has_vowel else word
    return f"{shorter} {noun.singular}"


def an(words: str) -> str:
    """
    >>> an("old hat"), an("hour"), an("university")
    ('an old hat', 'an hour', 'a university')
    """
    return f"an {words}" if words[0] in "aeio" or words in _WITH_AN else f"a {words}"
