"""Who does what, in every tense, asked and denied: persons with the verbs of `verbs`."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from regard.corpora.tables import Value, table
from regard.corpora.verbs import Verb, elided, verb

# The French person as its verb counts it (je is 0, ils 5), and in English.
_PRONOUNS = (
    "0 je=I;1 tu=you;2 il=he;2 elle=she;2 on=we;3 nous=we;4 vous=you;5 ils=they;5 elles=they"
)
_OTHERS = (
    "2 mon frère=my brother;2 ma sœur=my sister;2 mon père=my father;2 ma mère=my mother;5 mes parents=my parents;"
    "5 les enfants=the children;2 le voisin=the neighbor;5 mes amis=my friends;2 sa femme=his wife;2 son mari=her husband"
)
_HAVE = ("ai", "as", "a", "avons", "avez", "ont")
_HAD = ("avais", "avais", "avait", "avions", "aviez", "avaient")
_GO = ("vais", "vas", "va", "allons", "allez", "vont")
_COME = ("viens", "viens", "vient", "venons", "venez", "viennent")
_AM = ("suis", "es", "est", "sommes", "êtes", "sont")
_WAS = ("étais", "étais", "était", "étions", "étiez", "étaient")
_WOULD_HAVE = ("aurais", "aurais", "aurait", "aurions", "auriez", "auraient")
_OBJECTS = {"I": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
# Done for hours, and done in no time.
_LASTING = (
    "regarder la télé=watch TV;écouter la radio=listen to the radio;lire le journal=read the newspaper;"
    "travailler dans le jardin=work in the garden;jouer aux échecs=play chess;jouer du piano=play the piano;"
    "apprendre l'anglais=learn English;chercher du travail=look for a job;attendre le bus=wait for the bus;"
    "préparer le dîner=prepare dinner;faire la cuisine=do the cooking;nager dans la mer=swim in the sea;"
    "parler avec le directeur=speak with the manager;étudier la médecine=study medicine;dessiner des animaux=draw animals;"
    "conduire un camion=drive a truck;construire une maison=build a house;écrire un roman=write a novel;"
    "chanter dans la cuisine=sing in the kitchen;dormir sur le canapé=sleep on the couch;"
    "marcher sous la pluie=walk in the rain;danser avec des amis=dance with friends;"
    "garder les enfants=look after the children;réparer la voiture=repair the car;"
    "voyager en train=travel by train;habiter à la campagne=live in the country;boire du thé=drink tea"
)
_AT_ONCE = (
    "fermer la porte=close the door;ouvrir la fenêtre=open the window;acheter du pain=buy some bread;"
    "vendre la maison=sell the house;prendre le train=take the train;manger une pomme=eat an apple;"
    "laver la voiture=wash the car;mettre la table=set the table;"
    "poser une question=ask a question;quitter la ville=leave town;visiter le musée=visit the museum;"
    "raconter une histoire=tell a story;commander une pizza=order a pizza;finir le travail=finish the work;"
    "choisir un cadeau=choose a present;commencer un nouveau livre=start a new book;aider les voisins=help the neighbors;"
    "inviter des amis=invite some friends;changer les draps=change the sheets;"
    "faire un gâteau=make a cake;faire la vaisselle=do the dishes;prendre une douche=take a shower;"
    "dire la vérité=tell the truth;voir un film=see a movie;gagner de l'argent=earn money;"
    "accepter l'invitation=accept the invitation;"
    "traverser la rue=cross the street;allumer la lumière=turn on the light;demander de l'aide=ask for help;"
    "montrer les photos=show the photos;signer le contrat=sign the contract"
)
# Nobody is busy with these, or feels like them.
_SUDDEN = (
    "perdre les clés=lose the keys;trouver la solution=find the solution;casser un verre=break a glass;"
    "recevoir une lettre=receive a letter;oublier le rendez-vous=forget the appointment;voir un fantôme=see a ghost;"
    "gagner la partie=win the game;rencontrer un ami=meet a friend"
)


class _Person(NamedTuple):
    number: int
    french: str
    english: str

    @property
    def is_third(self) -> bool:
        """As English has it: on is we."""
        return self.number == 2 and self.french != "on"

    def says(self, words: str) -> str:
        return elided("je", words) if self.french == "je" else f"{self.french} {words}"

    def denies(self, words: str, no: str) -> str:
        """no: pas, plus or jamais behind the first of the words."""
        first, _, rest = words.partition(" ")
        return f"{self.french} {elided('ne', f'{first} {no} {rest}'.rstrip())}"

    def be(self) -> str:
        return "am" if self.english == "I" else "is" if self.is_third else "are"

    def was(self) -> str:
        return "was" if self.english == "I" or self.is_third else "were"

    def have(self) -> str:
        return "has" if self.is_third else "have"

    def do(self) -> str:
        return "does" if self.is_third else "do"


_Said = Callable[[_Person, Verb], Value]

_SAID: dict[str, _Said] = {
    "he watches": lambda who, act: (
        who.says(act.present(who.number)),
        f"{who.english} {act.third() if who.is_third else act.base()}",
    ),
    "he is watching": lambda who, act: (
        who.says(act.present(who.number)),
        f"{who.english} {who.be()} {act.doing()}",
    ),
    "he is busy watching": lambda who, act: (
        who.says(f"{_AM[who.number]} en train {elided('de', act.infinitive())}"),
        f"{who.english} {who.be()} {act.doing()}",
    ),
    "he was watching": lambda who, act: (
        who.says(act.imperfect(who.number)),
        f"{who.english} {who.was()} {act.doing()}",
    ),
    "he used to watch": lambda who, act: (
        who.says(act.imperfect(who.number)),
        f"{who.english} used to {act.base()}",
    ),
    "he watched": lambda who, act: (
        who.says(f"{_HAVE[who.number]} {act.participle()}"),
        f"{who.english} {act.past()}",
    ),
    "he has watched": lambda who, act: (
        who.says(f"{_HAVE[who.number]} déjà {act.participle()}"),
        f"{who.english} {who.have()} already {act.done()}",
    ),
    "he had watched": lambda who, act: (
        who.says(f"{_HAD[who.number]} {act.participle()}"),
        f"{who.english} had {act.done()}",
    ),
    "he will watch": lambda who, act: (
        who.says(act.future(who.number)),
        f"{who.english} will {act.base()}",
    ),
    "he is going to watch": lambda who, act: (
        who.says(f"{_GO[who.number]} {act.infinitive()}"),
        f"{who.english} {who.be()} going to {act.base()}",
    ),
    "he would watch": lambda who, act: (
        who.says(act.conditional(who.number)),
        f"{who.english} would {act.base()}",
    ),
    "he would have watched": lambda who, act: (
        who.says(f"{_WOULD_HAVE[who.number]} {act.participle()}"),
        f"{who.english} would have {act.done()}",
    ),
    "he should have watched": lambda who, act: (
        who.says(f"{_WOULD_HAVE[who.number]} dû {act.infinitive()}"),
        f"{who.english} should have {act.done()}",
    ),
    "he has just watched": lambda who, act: (
        who.says(f"{_COME[who.number]} {elided('de', act.infinitive())}"),
        f"{who.english} {who.have()} just {act.done()}",
    ),
    "he needs to watch": lambda who, act: (
        who.says(f"{_HAVE[who.number]} besoin {elided('de', act.infinitive())}"),
        f"{who.english} need{'s' if who.is_third else ''} to {act.base()}",
    ),
    "he feels like watching": lambda who, act: (
        who.says(f"{_HAVE[who.number]} envie {elided('de', act.infinitive())}"),
        f"{who.english} feel{'s' if who.is_third else ''} like {act.doing()}",
    ),
    "he must watch": lambda who, act: (
        f"il faut {elided('que', who.says(act.subjunctive(who.number)))}",
        f"{who.english} {who.have()} to {act.base()}",
    ),
    "he does not watch": lambda who, act: (
        who.denies(act.denied().present(who.number), "pas"),
        f"{who.english} {who.do()}n't {act.denied().base()}",
    ),
    "he never watches": lambda who, act: (
        who.denies(act.denied().present(who.number), "jamais"),
        f"{who.english} never {act.denied().third() if who.is_third else act.denied().base()}",
    ),
    "he no longer watches": lambda who, act: (
        who.denies(act.denied().present(who.number), "plus"),
        f"{who.english} no longer {act.denied().third() if who.is_third else act.denied().base()}",
    ),
    "he does not watch any more": lambda who, act: (
        who.denies(act.denied().present(who.number), "plus"),
        f"{who.english} {who.do()}n't {act.denied().base()} any more",
    ),
    "he did not watch": lambda who, act: (
        who.denies(f"{_HAVE[who.number]} {act.denied().participle()}", "pas"),
        f"{who.english} didn't {act.denied().base()}",
    ),
    "he has not watched yet": lambda who, act: (
        who.denies(f"{_HAVE[who.number]} {act.denied().participle()}", "pas encore"),
        f"{who.english} {who.have()}n't {act.denied().done()} yet",
    ),
    "he has never watched": lambda who, act: (
        who.denies(f"{_HAVE[who.number]} {act.denied().participle()}", "jamais"),
        f"{who.english} {who.have()} never {act.denied().done()}",
    ),
    "he will not watch": lambda who, act: (
        who.denies(act.denied().future(who.number), "pas"),
        f"{who.english} won't {act.denied().base()}",
    ),
    "is he watching": lambda who, act: (
        _asked(who, act.present(who.number), act),
        f"{who.be()} {who.english} {act.doing()}",
    ),
    "does he watch": lambda who, act: (
        _asked(who, act.present(who.number), act),
        f"{who.do()} {who.english} {act.base()}",
    ),
    "did he watch": lambda who, act: (
        _asked(who, f"{_HAVE[who.number]} {act.participle()}", act),
        f"did {who.english} {act.base()}",
    ),
    "will he watch": lambda who, act: (
        _asked(who, act.future(who.number), act),
        f"will {who.english} {act.base()}",
    ),
}
_HAPPENS = (
    "he watched;he has watched;he had watched;he is going to watch;he has just watched;he never watches;"
    "he did not watch;he has not watched yet;he has never watched;did he watch"
).split(";")
# These of what lasts.
_LAST: dict[str, _Said] = {
    "he has been watching": lambda who, act: (
        who.says(act.present(who.number)),
        f"{who.english} {who.have()} been {act.doing()}",
    ),
    "he watched for long": _SAID["he watched"],
    "he was still watching": _SAID["he was watching"],
    "he was busy watching": lambda who, act: (
        who.says(f"{_WAS[who.number]} en train {elided('de', act.infinitive())}"),
        f"{who.english} {who.was()} {act.doing()}",
    ),
}


def clauses() -> dict[str, list[Value]]:
    """What fills each slot of somebody doing something; its name is how it would be said of him watching."""
    pronouns = _persons(_PRONOUNS)
    everyone = [*pronouns, *_persons(_OTHERS)]
    lasting, sudden = _verbs(_LASTING), _verbs(_SUDDEN)
    acts = [*lasting, *_verbs(_AT_ONCE)]
    return {
        **{
            name: [
                say(who, act)
                for who in (pronouns if _asks(name) else everyone)
                for act in ([*acts, *sudden] if name in _HAPPENS else acts)
            ]
            for name, say in _SAID.items()
        },
        **{
            name: [say(who, act) for who in everyone for act in lasting]
            for name, say in _LAST.items()
        },
        "him to watch": [_wished(who, act) for who in everyone[1:] for act in acts],
        "watching": [(act.infinitive(), act.doing()) for act in acts],
        "after watching": [
            (f"après avoir {act.participle()}", f"after {act.doing()}") for act in acts
        ],
        "before watching": [
            (f"avant {elided('de', act.infinitive())}", f"before {act.doing()}") for act in acts
        ],
    }


def _asks(name: str) -> bool:
    return name.split()[0] in ("is", "does", "did", "will")


def _asked(who: _Person, words: str, act: Verb) -> str:
    """In one of the three ways of asking in French; which of them, the verb decides."""
    way = (len(act.english) + len(act.object) + who.number) % 3
    if way == 0:
        return f"est-ce {elided('que', who.says(words))}"
    first, _, rest = words.partition(" ")
    # Turned round, je is hardly heard.
    if way == 1 or who.french == "je":
        return who.says(words)
    between = "-t-" if first[-1] in "aeé" and who.number == 2 else "-"
    return f"{first}{between}{who.french} {rest}".rstrip()


def _wished(who: _Person, act: Verb) -> Value:
    """What somebody else wants."""
    english = _OBJECTS.get(who.english, who.english)
    return (
        elided("que", who.says(act.subjunctive(who.number))),
        f"{english} to {act.base()}",
    )


def _persons(text: str) -> list[_Person]:
    return [_Person(int(french[0]), french[2:], english) for french, english in table(text)]


def _verbs(text: str) -> list[Verb]:
    return [verb(french, english) for french, english in table(text)]
