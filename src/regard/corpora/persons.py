"""Who does what: persons with their verbs, what agrees with them, what they will do when, how they greet."""

from __future__ import annotations

from typing import NamedTuple

from regard.corpora.names import of
from regard.corpora.tables import Value, table

# Of a man, a woman, men or women (m, f, mm, ff), and in English.
_PERSONS = (
    "m je=I;f je=I;m il=he;f elle=she;mm nous=we;mm ils=they;ff elles=they;m mon frère=my brother;"
    "f ma sœur=my sister;f ma mère=my mother;m mon grand-père=my grandfather;f ma grand-mère=my grandmother;"
    "mm mes parents=my parents;ff mes sœurs=my sisters;mm mes amis=my friends;mm mes cousins=my cousins;"
    "ff mes filles=my daughters;f ma tante=my aunt;mm les enfants=the children;mm les garçons=the boys;"
    "ff les filles=the girls;mm les invités=the guests;mm les élèves=the students;f la vieille dame=the old lady;"
    "ff toutes les femmes=all the women;mm tous les hommes=all the men;f la reine=the queen;m le roi=the king"
)
_ADJECTIVES = (
    "content/contente=happy;fatigué/fatiguée=tired;prêt/prête=ready;malade/malade=sick;seul/seule=alone;"
    "marié/mariée=married;surpris/surprise=surprised;déçu/déçue=disappointed;inquiet/inquiète=worried;"
    "furieux/furieuse=furious;assis/assise=sitting;sérieux/sérieuse=serious;gentil/gentille=kind;jaloux/jalouse=jealous;"
    "absent/absente=absent;courageux/courageuse=brave;fier/fière=proud;pressé/pressée=in a hurry;perdu/perdue=lost;"
    "occupé/occupée=busy;curieux/curieuse=curious;nerveux/nerveuse=nervous"
)
_MOVES = "arrivé=arrived;parti=left;venu=came;revenu=came back;allé=went;sorti=went out;resté=stayed;tombé=fell;né=was born"
_TO_ONESELF = (
    "levé tôt=got up early;couché tard=went to bed late;réveillé en retard=woke up late;endormi=fell asleep;"
    "trompé=was wrong;trompé de route=took the wrong road;perdu en chemin=got lost on the way;marié=got married;"
    "promené dans le parc=went for a walk in the park;reposé=rested;habillé=got dressed;amusé=had fun;"
    "ennuyé=was bored;excusé=apologized;caché derrière un arbre=hid behind a tree;dépêché=hurried;"
    "fâché=got angry;arrêté devant la maison=stopped in front of the house;baigné dans le lac=swam in the lake;"
    "évanoui=fainted;retourné=turned around;plaint du bruit=complained about the noise;inquiété=was worried;"
    "enfui=ran away;noyé=drowned;blessé=was injured"
)
_HAVE = (
    "j'ai=I;tu as=you;il a=he;elle a=she;on a=we;nous avons=we;vous avez=you;ils ont=they;elles ont=they;"
    "mon frère a=my brother;ma sœur a=my sister;mes parents ont=my parents;les enfants ont=the children;"
    "tout le monde a=everybody;quelqu'un a=somebody;le voisin a=the neighbor"
)
_HAVE_NOT = (
    "je n'ai pas=I;tu n'as pas=you;il n'a pas=he;elle n'a pas=she;nous n'avons pas=we;vous n'avez pas=you;"
    "ils n'ont pas=they;elles n'ont pas=they;mon père n'a pas=my father;ma tante n'a pas=my aunt;"
    "mes amis n'ont pas=my friends"
)
_VERBS = {
    "is": (
        "j'ai=I am;tu as=you are;il a=he is;elle a=she is;nous avons=we are;vous avez=you are;ils ont=they are;"
        "elles ont=they are;mon fils a=my son is;ma fille a=my daughter is;les enfants ont=the children are;"
        "tout le monde a=everyone is;je n'ai pas=I am not;tu n'as pas=you are not;elle n'a pas=she is not;"
        "nous n'avons pas=we are not;ils n'ont pas=they are not;il avait=he was;elle avait=she was;j'avais=I was;"
        "nous avions=we were;ils avaient=they were;ils auront=they will be;tu auras=you will be"
    ),
    "is going to": (
        "je vais=I am going to;tu vas=you are going to;il va=he is going to;elle va=she is going to;on va=we are going to;"
        "nous allons=we are going to;vous allez=you are going to;ils vont=they are going to;"
        "ma mère va=my mother is going to;mes voisins vont=my neighbors are going to"
    ),
    "has to": (
        "je dois=I have to;tu dois=you have to;il doit=he has to;elle doit=she has to;nous devons=we have to;"
        "vous devez=you have to;ils doivent=they have to;il faut=we have to;je devrais=I should;tu devrais=you should;"
        "vous devriez=you should;il devrait=he should;on devrait=we should;nous devrions=we should"
    ),
    "wants to": (
        "je veux=I want to;tu veux=you want to;il veut=he wants to;elle veut=she wants to;nous voulons=we want to;"
        "ils veulent=they want to;je voudrais=I would like to;nous voudrions=we would like to;"
        "j'aimerais=I would like to;elle aimerait=she would like to;je préfère=I prefer to;je ne veux pas=I don't want to;"
        "il ne veut pas=he doesn't want to;elle ne veut pas=she doesn't want to"
    ),
    "can": (
        "je peux=I can;tu peux=you can;il peut=he can;elle peut=she can;nous pouvons=we can;vous pouvez=you can;"
        "on peut=we can;je ne peux pas=I can't;tu ne peux pas=you can't;elle ne peut pas=she can't;"
        "nous ne pouvons pas=we can't;ils ne pouvaient pas=they couldn't;je n'ai pas pu=I couldn't"
    ),
}
_STATES = (
    "faim=hungry;soif=thirsty;froid=cold;chaud=hot;peur=afraid;raison=right;tort=wrong;sommeil=sleepy;"
    "honte=ashamed;très faim=very hungry;très soif=very thirsty;mal au cœur=nauseous;"
    "peur du noir=afraid of the dark;le vertige=afraid of heights;l'habitude=used to it"
)
_ACTIONS = (
    "passer un examen=take an exam;assister à la réunion=attend the meeting;faire la queue=stand in line;"
    "faire les courses=do the shopping;faire la vaisselle=do the dishes;prendre une décision=make a decision;"
    "poser une question=ask a question;faire une promenade=go for a walk;prendre une douche=take a shower;"
    "prendre le petit déjeuner=have breakfast;faire attention=be careful;faire une pause=take a break;"
    "gagner de l'argent=earn money;gagner du temps=save time;perdre du poids=lose weight;faire la sieste=take a nap;"
    "faire un gâteau=make a cake;faire des économies=save money;mettre la table=set the table;"
    "éteindre la télé=turn off the TV;rester au lit=stay in bed;aller à la pêche=go fishing;faire du camping=go camping;"
    "jouer aux cartes=play cards;louer une voiture=rent a car;retirer de l'argent=withdraw some money;"
    "remplir un formulaire=fill in a form;faire le plein=fill up the tank;garer la voiture=park the car;"
    "sortir les poubelles=take out the trash;tondre la pelouse=mow the lawn;promener le chien=walk the dog;"
    "passer l'aspirateur=vacuum;faire le ménage=do the cleaning;prendre un verre=have a drink;"
    "boire un coup=have a drink;prendre des vacances=take a vacation;prendre l'air=get some fresh air;"
    "faire demi-tour=turn around;faire la cuisine=do the cooking;faire la fête=party;prendre rendez-vous=make an appointment;"
    "faire la grasse matinée=sleep in;apprendre à conduire=learn to drive;faire du ski=go skiing;"
    "aller chez le coiffeur=go to the hairdresser's;aller chercher les enfants=pick up the children;"
    "emmener le chien chez le vétérinaire=take the dog to the vet;faire un effort=make an effort;"
    "dire la vérité=tell the truth;raconter une histoire=tell a story;faire du bruit=make noise;"
    "changer une ampoule=change a light bulb;prendre une photo=take a picture;perdre du temps=waste time;"
    "assister au mariage=attend the wedding;quitter la ville=leave town;rendre visite à mes parents=visit my parents;"
    "demander de l'aide=ask for help;attendre le prochain bus=wait for the next bus"
)
_LATER = (
    "je serai content=I will be happy;nous partirons=we will leave;on mangera=we will eat;"
    "il sera surpris=he will be surprised;elle sera contente=she will be happy;je te préviendrai=I will let you know;"
    "je te le dirai=I will tell you;nous en parlerons=we will talk about it;tout ira mieux=everything will be better;"
    "nous fêterons ça=we will celebrate;je t'écrirai=I will write to you;je t'aiderai=I will help you;"
    "elle nous téléphonera=she will phone us;ils nous appelleront=they will call us;tu comprendras=you will understand;"
    "nous serons prêts=we will be ready;il sera trop tard=it will be too late;"
    "on ira au cinéma=we will go to the movies;je te donnerai la clé=I will give you the key;"
    "elle t'expliquera tout=she will explain everything to you;je te montrerai les photos=I will show you the photos;"
    "nous ferons une grande fête=we will have a big party;je lui en parlerai=I will talk to him about it"
)
_WHEN_LATER = (
    "il arrivera=he arrives;elle arrivera=she arrives;tu arriveras=you arrive;"
    "il rentrera=he comes home;elle rentrera=she comes home;tu rentreras=you come home;je rentrerai=I get home;"
    "ils reviendront=they come back;elle reviendra=she comes back;nous reviendrons=we come back;"
    "tu seras grand=you are grown up;tu seras prêt=you are ready;ils seront prêts=they are ready;"
    "elle sera prête=she is ready;tout sera prêt=everything is ready;j'aurai le temps=I have time;"
    "tu auras le temps=you have time;il fera beau=the weather is nice;il fera nuit=it gets dark;"
    "il fera jour=it is light;elle sera là=she is here;tout le monde sera là=everyone is here;"
    "tu seras plus vieux=you are older;le train partira=the train leaves;les enfants dormiront=the children are asleep;"
    "il saura la vérité=he knows the truth;elle aura vingt ans=she turns twenty;tu auras fini=you have finished;"
    "nous aurons fini=we have finished;j'aurai fini=I have finished;elle aura mangé=she has eaten;"
    "il aura cessé de pleuvoir=it has stopped raining;la pluie s'arrêtera=the rain stops;"
    "tu le verras=you see him;tu la verras=you see her;je serai à la retraite=I am retired;"
    "le film sera fini=the film is over;les vacances commenceront=the holidays begin;l'été viendra=summer comes"
)
_WHEN = (("quand", "when"), ("dès que", "as soon as"), ("lorsque", "when"))
_ASKED = (
    "comment vas-tu ?=how are you?;comment ça va ?=how are you?;comment vas-tu aujourd'hui ?=how are you today?;"
    "ça va bien ?=are you well?;comment s'est passé ton week-end ?=how was your weekend?;tu vas bien ?=are you all right?;"
    "je suis content de te voir !=I'm glad to see you!;ça me fait plaisir de te voir !=it's good to see you!;"
    "quel bon vent t'amène ?=what brings you here?;qu'est-ce que tu fais ici ?=what are you doing here?;"
    "ça fait longtemps qu'on ne s'est pas vus !=we haven't seen each other for a long time!;entre donc !=do come in!"
)
_ASKED_ANYBODY = (
    "comment vont les enfants ?=how are the children?;comment va la famille ?=how is the family?;"
    "ça fait longtemps !=it's been a long time!;quelle bonne surprise !=what a nice surprise!;"
    "bienvenue chez nous !=welcome to our home!;comment s'est passé le voyage ?=how was the trip?"
)
_ASKED_POLITELY = (
    "comment allez-vous ?=how are you?;comment allez-vous aujourd'hui ?=how are you today?;"
    "vous allez bien ?=are you well?;avez-vous fait bon voyage ?=did you have a good trip?;"
    "entrez, je vous en prie !=please come in!;ravi de vous revoir !=nice to see you again!;"
    "asseyez-vous, je vous en prie !=please have a seat!;que puis-je faire pour vous ?=what can I do for you?;"
    "je suis heureux de vous rencontrer !=I'm happy to meet you!;quel bon vent vous amène ?=what brings you here?"
)
_GREETINGS = (
    "bonjour=hello;bonsoir=good evening;salut=hi;coucou=hi there;bonjour, maman=hello, Mom;bonsoir, papa=good evening, Dad;"
    "salut, mon vieux=hi, old friend;bonsoir, mon ami=good evening, my friend;bonsoir, chérie=good evening, darling"
)
_PARTINGS = "au revoir=goodbye;merci et au revoir=thank you and goodbye;salut=bye;merci=thank you"
_WISHES = (
    "à demain=see you tomorrow;à bientôt=see you soon;à lundi=see you on Monday;à ce soir=see you tonight;"
    "à la semaine prochaine=see you next week;bonne journée=have a nice day;bonne soirée=have a nice evening;"
    "bon week-end=have a nice weekend;bon voyage=have a good trip;bonnes vacances=have a nice vacation;"
    "rentre bien=get home safely;prends soin de toi=take care of yourself;dors bien=sleep well;"
    "et à bientôt=and see you soon;et bonne chance=and good luck;"
    "à l'année prochaine=see you next year;bon courage=good luck;repose-toi bien=have a good rest"
)


class _Person(NamedTuple):
    is_feminine: bool
    is_plural: bool
    french: str
    english: str

    def is_so(self, masculine: str, feminine: str) -> str:
        """With the verb être and a word that agrees."""
        verb = {"je": "suis", "nous": "sommes"}.get(
            self.french, "sont" if self.is_plural else "est"
        )
        word = feminine if self.is_feminine else masculine
        plural = "s" if self.is_plural and word[-1] not in "sx" else ""
        return f"{self.french} {verb} {word}{plural}"

    def is_to_oneself(self, participle: str) -> str:
        """
        >>> _person("ff elles", "they").is_to_oneself("levé tôt"), _person("m il", "he").is_to_oneself("assis")
        ('elles se sont levées tôt', "il s'est assis")
        """
        word, space, rest = participle.partition(" ")
        said = self.is_so(word, f"{word}e").removeprefix(f"{self.french} ")
        before = {"je": "me ", "nous": "nous "}.get(self.french, "se ")
        if said.startswith("est"):
            before = "s'"
        return f"{self.french} {before}{said}{space}{rest}"

    def english_is(self) -> str:
        return "am" if self.english == "I" else "are" if self.is_plural else "is"


def persons() -> dict[str, list[Value]]:
    """What fills each slot of a person with a verb, of an action, and of a greeting."""
    everyone = [_person(*each) for each in table(_PERSONS)]
    return {
        "is happy": [
            (
                person.is_so(*adjective.split("/")),
                f"{person.english} {person.english_is()} {english}",
            )
            for person in everyone
            for adjective, english in table(_ADJECTIVES)
        ],
        **{
            english: [_moved(person, participle, english) for person in everyone]
            for participle, english in table(_MOVES)
        },
        "got up": [
            (
                person.is_to_oneself(participle),
                f"{person.english} {_of_several(english) if person.is_plural else english}",
            )
            for person in everyone
            for participle, english in table(_TO_ONESELF)
        ],
        "did": table(_HAVE),
        "did not": table(_HAVE_NOT),
        **{slot: table(text) for slot, text in _VERBS.items()},
        "hungry": table(_STATES),
        "action": table(_ACTIONS),
        "to act": [(of(action), english) for action, english in table(_ACTIONS)],
        "later": table(_LATER),
        "when later": [
            (_before(conjunction, clause), f"{english} {then}")
            for conjunction, english in _WHEN
            for clause, then in table(_WHEN_LATER)
        ],
        "greeting": table(_GREETINGS),
        "asked": table(f"{_ASKED};{_ASKED_ANYBODY}"),
        "Asked": _capitals(table(f"{_ASKED};{_ASKED_ANYBODY}")),
        "asked politely": table(f"{_ASKED_POLITELY};{_ASKED_ANYBODY}"),
        "Asked politely": _capitals(table(f"{_ASKED_POLITELY};{_ASKED_ANYBODY}")),
        "parting": table(_PARTINGS),
        "wish": table(_WISHES),
    }


def _person(french: str, english: str) -> _Person:
    kind, _, words = french.partition(" ")
    return _Person(kind[0] == "f", len(kind) == 2, words, english)


def _moved(person: _Person, participle: str, english: str) -> Value:
    if person.is_plural:
        english = _of_several(english)
    return person.is_so(participle, f"{participle}e"), f"{person.english} {english}"


def _of_several(english: str) -> str:
    return english.replace("was ", "were ")


def _before(conjunction: str, clause: str) -> str:
    if conjunction.endswith("que") and clause[0] in "aeiou":
        return f"{conjunction[:-1]}'{clause}"
    return f"{conjunction} {clause}"


def _capitals(values: list[Value]) -> list[Value]:
    return [
        (french[0].upper() + french[1:], english[0].upper() + english[1:])
        for french, english in values
    ]
