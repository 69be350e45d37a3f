"""What stands in the braces of patterns.tsv: for each slot the French and the English of everything it may hold.

The French holds its article or preposition wherever that depends on the word: `au Japon`, `d'Italie`, `du violon`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from regard.compare.number_words import english_number as english
from regard.compare.number_words import english_year
from regard.compare.number_words import french_number as french
from regard.corpora.clauses import clauses
from regard.corpora.clock_words import (
    MONTHS,
    clocks,
    dates,
    dates_in_words,
    full_dates,
    hours,
    times,
)
from regard.corpora.comparisons import comparisons
from regard.corpora.countries import countries
from regard.corpora.names import names, of
from regard.corpora.nouns import agreement, an, small_things
from regard.corpora.persons import persons
from regard.corpora.possessives import possessives
from regard.corpora.pronouns import pronouns
from regard.corpora.tables import Value, table
from regard.corpora.words import counted

_WEEKDAYS = "lundi=Monday;mardi=Tuesday;mercredi=Wednesday;jeudi=Thursday;vendredi=Friday;samedi=Saturday;dimanche=Sunday"
_CITIES = (
    "Londres=London;Vienne=Vienna;Varsovie=Warsaw;Bruxelles=Brussels;Genève=Geneva;Lisbonne=Lisbon;Moscou=Moscow;"
    "Athènes=Athens;Édimbourg=Edinburgh;Barcelone=Barcelona;Venise=Venice;Pékin=Beijing;Copenhague=Copenhagen;"
    "Dresde=Dresden;Cologne=Cologne;Gênes=Genoa;Anvers=Antwerp;Douvres=Dover;Alger=Algiers;Rome=Rome;Paris=Paris;"
    "Marseille=Marseille;Bordeaux=Bordeaux;Nantes=Nantes;Strasbourg=Strasbourg;Toulouse=Toulouse;Montréal=Montreal;"
    "Boston=Boston;Tokyo=Tokyo;Berlin=Berlin;Madrid=Madrid;Dublin=Dublin;Chicago=Chicago;Oslo=Oslo;Prague=Prague"
)


def french_rank(number: int) -> str:
    """Of a page, a house, a year: counting nothing, `vingt` and `cent` have no plural.

    >>> french_rank(80), french_rank(200), french_rank(3)
    ('quatre-vingt', 'deux cent', 'trois')
    """
    words = french(number)
    return words[:-1] if words.endswith(("vingts", "cents")) else words


def _sums() -> Iterator[Value]:
    for left in range(1, 13):
        for right in range(1, 13):
            for french_sign, english_sign, result in (
                ("plus", "plus", left + right),
                ("fois", "times", left * right),
                ("moins", "minus", left - right),
            ):
                if result > 1:
                    yield (
                        f"{french(left)} {french_sign} {french(right)} font {french(result)}.",
                        f"{english(left)} {english_sign} {english(right)} is {english(result)}.",
                    )


def _prices() -> Iterator[Value]:
    for cents in (*range(50, 2000, 55), *range(2000, 40000, 1310)):
        whole, rest = divmod(cents, 100)
        written = f"{whole},{rest:02}" if rest else f"{whole}"
        spoken = f"{whole}.{rest:02}" if rest else f"{whole}"
        for sign in "€$£":
            yield f"{written} {sign}", f"{sign}{spoken}"
        if whole > 1:
            yield f"{written} euros", f"{spoken} euros"
    for whole in (1200, 2500, 10_000, 15_000, 250_000):
        for sign in "€$£":
            yield f"{whole:,} {sign}".replace(",", " "), f"{sign}{whole:,}"


def _prices_in_words() -> Iterator[Value]:
    for number in range(2, 101):
        yield f"{french(number)} euros", f"{english(number)} euros"
        yield f"{french(number)} dollars", f"{english(number)} dollars"
        # A pound is a woman's word in French: vingt et une livres.
        yield f"{french(number, feminine=True)} livres", f"{english(number)} pounds"


def _degrees() -> Iterator[Value]:
    for number in range(-20, 46):
        plural = abs(number) > 1
        yield f"{number} degré{'s' * plural}", f"{number} degree{'s' * (abs(number) != 1)}"
        yield f"{number} °C", f"{number} °C"


def _large(number: int) -> Value:
    return f"{number:,}".replace(",", " "), f"{number:,}"


def _telephones() -> Iterator[Value]:
    for place in range(60):
        digits = str(100_000_000 + place * 31_415_927 % 899_999_999)
        grouped = " ".join(("0" + digits)[start : start + 2] for start in range(0, 10, 2))
        yield grouped, grouped
        short = f"555-{1000 + place * 137}"
        yield short, short


def _round() -> Iterator[Value]:
    for number in (*range(100, 1000, 100), *range(1000, 21_000, 1000), 50_000, 80_000, 100_000):
        yield french(number), english(number)
        if number in (100, 1000):
            yield french(number), english(number).replace("one", "a", 1)
    for number in (*range(101, 1000, 23), *range(1100, 10_000, 317)):
        yield french(number), english(number)


_ORDINALS = (
    "première=first;deuxième=second;troisième=third;quatrième=fourth;cinquième=fifth;sixième=sixth;"
    "septième=seventh;huitième=eighth;neuvième=ninth;dixième=tenth;onzième=eleventh;douzième=twelfth;"
    "vingtième=twentieth;centième=hundredth"
)


_TABLES = {
    "share": (
        "la moitié=half;un tiers=a third;un quart=a quarter;les deux tiers=two thirds;"
        "les trois quarts=three quarters;un cinquième=a fifth;un dixième=a tenth"
    ),
    "thing": (
        "pommes=apples;oranges=oranges;cafés=coffees;thés=teas;bières=beers;verres=glasses;livres=books;"
        "stylos=pens;timbres=stamps;billets=tickets;œufs=eggs;assiettes=plates;bouteilles=bottles;"
        "chemises=shirts;chaises=chairs;cuillères=spoons;fourchettes=forks;couteaux=knives;gâteaux=cakes;"
        "journaux=newspapers;croissants=croissants;baguettes=baguettes;miches de pain=loaves of bread"
    ),
    "if I had time": (
        "si j'avais le temps=if I had time;si nous avions le temps=if we had time;s'il faisait beau=if the weather were nice;"
        "s'il ne pleuvait pas=if it weren't raining;si c'était possible=if it were possible;si tu voulais=if you wanted;"
        "si vous étiez là=if you were here;si elle le voulait=if she wanted to;si j'étais riche=if I were rich;"
        "si tu étais à ma place=if you were in my place;si on pouvait=if we could;s'il y avait un train=if there were a train;"
        "si nous avions plus d'argent=if we had more money;si j'étais moins fatigué=if I were less tired"
    ),
    "if it rains": (
        "s'il pleut=if it rains;s'il fait beau=if the weather is nice;s'il neige=if it snows;si tu veux=if you want;"
        "si nous avons le temps=if we have time;si elle ne vient pas=if she doesn't come;si c'est possible=if possible;"
        "si tout va bien=if all goes well;si le train est à l'heure=if the train is on time;si vous voulez=if you like;"
        "s'il n'est pas trop tard=if it isn't too late;si personne ne vient=if nobody comes;si besoin est=if need be"
    ),
    "if I had known": (
        "si j'avais su=if I had known;si tu me l'avais dit=if you had told me;s'il avait fait beau=if the weather had been nice;"
        "si nous avions eu le temps=if we had had time;si vous étiez venus=if you had come;si elle avait pu=if she could have;"
        "si tu avais été là=if you had been there;s'il n'avait pas plu=if it hadn't rained;si on m'avait écouté=if they had listened to me"
    ),
    "cold": (
        "beau=nice;chaud=hot;froid=cold;frais=cool;doux=mild;gris=overcast;humide=humid;sec=dry;lourd=muggy;nuit=dark;"
        "sombre=dark;bon=pleasant;meilleur=better;moins froid=less cold;moins chaud=less hot;trop chaud=too hot;"
        "trop froid=too cold;très froid=very cold;très chaud=very hot;très beau=very nice;plus frais=cooler;"
        "plus chaud=warmer;un peu frais=a bit chilly;assez chaud=quite warm;un froid glacial=freezing cold"
    ),
    "daypart": ("matin=morning;après-midi=afternoon;soir=evening"),
    "language": (
        "le français=French;l'anglais=English;l'allemand=German;l'espagnol=Spanish;l'italien=Italian;"
        "le russe=Russian;le chinois=Chinese;le japonais=Japanese;l'arabe=Arabic;le portugais=Portuguese;"
        "le grec=Greek;le latin=Latin;le néerlandais=Dutch;le polonais=Polish;le turc=Turkish;le suédois=Swedish"
    ),
    "fear": (
        "du noir=the dark;des chiens=dogs;des souris=mice;des serpents=snakes;de l'eau=water;des orages=storms;"
        "du vide=heights;de l'avion=flying;des abeilles=bees;des fantômes=ghosts;du dentiste=the dentist"
    ),
    "body": (
        "le bras=arm;la jambe=leg;le poignet=wrist;la cheville=ankle;le nez=nose;le coude=elbow;l'épaule=shoulder;"
        "la main=hand;le pied=foot;le genou=knee;un doigt=finger"
    ),
    "at body": (
        "au bras=arm;à la jambe=leg;au poignet=wrist;à la cheville=ankle;au coude=elbow;à l'épaule=shoulder;"
        "à la main=hand;au pied=foot;au genou=knee;au cou=neck"
    ),
    "instrument": (
        "du piano=piano;du violon=violin;de la guitare=guitar;de la flûte=flute;du violoncelle=cello;"
        "de la trompette=trumpet;de la batterie=drums;de l'accordéon=accordion;de l'orgue=organ;"
        "de la clarinette=clarinet"
    ),
}


@functools.cache
def slots() -> dict[str, list[Value]]:
    """By name; the French and the English of a value belong together."""
    numbers = [(french(number), english(number)) for number in range(101)]
    weekdays, ordinals = table(_WEEKDAYS), table(_ORDINALS)
    fewer = numbers[2:13]
    found: dict[str, Iterable[Value]] = {
        "number": numbers,
        "numbers": numbers[2:],
        "rank": [(french_rank(number), english(number)) for number in range(1, 101)],
        "une": [(french(number, feminine=True), english(number)) for number in range(2, 101)],
        "fewer": fewer,
        "fewer again": fewer,
        "digits": [(str(number), str(number)) for number in range(2, 100)],
        "height": [(f"1,{number} m", f"1.{number} m") for number in range(51, 99)],
        "decimal": [
            (f"{whole},{tenth}", f"{whole}.{tenth}")
            for whole in range(2, 13)
            for tenth in range(1, 10)
        ],
        "large": [
            _large(number)
            for number in (*range(1000, 10_000, 700), *range(12_000, 900_000, 8500), 1_500_000)
        ],
        "round": _round(),
        "sum": _sums(),
        "ordinal": [(f"la {each}", f"the {other}") for each, other in ordinals],
        "place": [*ordinals[:10], ("dernière", "last")],
        "floor": [
            ("au rez-de-chaussée", "on the ground floor"),
            ("au dernier étage", "on the top floor"),
            ("au premier étage", "on the first floor"),
            *((f"au {each} étage", f"on the {other} floor") for each, other in ordinals[1:13]),
        ],
        "time": times(),
        "clock": clocks(),
        "hours": hours(),
        "weekday": weekdays,
        "month": MONTHS,
        "of month": [(of(each), other) for each, other in MONTHS],
        "year": [(str(year), str(year)) for year in (*range(1600, 1900, 13), *range(1900, 2031))],
        "year in words": [(french_rank(year), english_year(year)) for year in range(1900, 2031)],
        "date": dates(),
        "full date": full_dates(),
        "date in words": dates_in_words(),
        "price": _prices(),
        "price in words": _prices_in_words(),
        "degrees": _degrees(),
        "degrees in words": [
            (f"{french(number)} degrés", f"{english(number)} degrees") for number in range(2, 46)
        ],
        "fever": [("39", "39"), ("38,5", "38.5"), ("40", "40"), ("39,2", "39.2"), ("38", "38")],
        "telephone": _telephones(),
        "city": table(_CITIES),
        **countries(),
        **names(),
        **agreement(),
        **persons(),
        **clauses(),
        **comparisons(),
        **pronouns(small_things()),
        "did with my own": possessives(),
        "a word": [
            (f"{'une' if noun.is_feminine else 'un'} {noun.singular}", an(noun.english))
            for noun in counted()
        ],
        **{name: table(text) for name, text in _TABLES.items()},
    }
    return {name: list(values) for name, values in found.items()}
