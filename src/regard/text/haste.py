"""Words as they are typed in haste, on a telephone above all, written out: no apostrophes, and few letters.

A model that has not met them guesses, and the worst guess is easy: without its apostrophe "I dont know" is knowing. Only
what can be no other word is here, or is none where it stands: Jony Ive and Gate B4 are names, "il a bientôt fini" is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from regard.text.respelling import Respelt


@dataclass(frozen=True)
class _Table:
    anywhere: Mapping[str, str]
    """as it stands here, capitals and all"""
    at_beginnings: Mapping[str, str]
    """of a sentence or after a sign: with a capital, which inside of a sentence is that of a name, or what is right there"""


def _table(text: str, *, never_first: str, first: str) -> _Table:
    """never_first: what with a capital is something else. first: what inside of a sentence is something else."""
    written, beginnings = _pairs(text), _pairs(first)
    capital = {
        short[0].upper() + short[1:]: full[0].upper() + full[1:]
        for short, full in (written | beginnings).items()
        if short[0].islower()
    }
    return _Table(written | _pairs(never_first), capital | beginnings)


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split(";"))


_ENGLISH = _table(
    "dont=don't;cant=can't;wont=won't;didnt=didn't;doesnt=doesn't;isnt=isn't;arent=aren't;wasnt=wasn't;werent=weren't;"
    "hasnt=hasn't;havent=haven't;hadnt=hadn't;couldnt=couldn't;wouldnt=wouldn't;shouldnt=shouldn't;im=I'm;Im=I'm;ive=I've;"
    "youre=you're;youve=you've;youll=you'll;theyre=they're;theyve=they've;theyll=they'll;weve=we've;thats=that's;"
    "whats=what's;wheres=where's;whos=who's;theres=there's;heres=here's;hes=he's;shes=she's;itll=it'll;"
    "r u=are you;thx=thanks;tysm=thank you so much;pls=please;plz=please;sry=sorry;ppl=people;msg=message;"
    "bday=birthday;tmrw=tomorrow;tmr=tomorrow;tho=though;thru=through;cuz=because;coz=because;gotta=have to;lemme=let me;"
    "gimme=give me;dunno=don't know;kinda=kind of;ofc=of course;smth=something;idk=I don't know;btw=by the way;"
    "nvm=never mind;ttyl=talk to you later;asap=as soon as possible;ASAP=as soon as possible;omg=oh my God;"
    "gr8=great;l8r=later;thanx=thanks;luv=love;tbh=to be honest;imo=in my opinion;fyi=for your information;"
    "FYI=for your information;afaik=as far as I know;ily=I love you;brb=I'll be right back;hbu=how about you;"
    "wyd=what are you doing;'til=until;til=until;nope=no;yup=yes;c'mon=come on;y'all=you all;w/o=without;w/=with;"
    "I've gotta=I have to;you've gotta=you have to;we've gotta=we have to;they've gotta=they have to;he's gotta=he has to;"
    "she's gotta=she has to;ive gotta=I have to;youve gotta=you have to;and ill be=and I'll be;but ill be=but I'll be;so ill be=so I'll be;think ill go=think I'll go;"
    "its a=it's a;its the=it's the;its not=it's not;its too=it's too;its so=it's so;its just a=it's just a;its been=it's been;"
    "its ok=it's ok;tsp of=teaspoons of;tsp=teaspoons of;"
    "1 tsp of=1 teaspoon of;1 tsp=1 teaspoon of;tbsp of=tablespoons of;tbsp=tablespoons of;1 tbsp of=1 tablespoon of;"
    "1 tbsp=1 tablespoon of",
    never_first="u r=you are;c u=see you;u=you;ur=your;b4=before",
    first="ill be=I'll be;ill go=I'll go;ill come=I'll come;ill call=I'll call;ill see=I'll see;ill do=I'll do;"
    "ill try=I'll try;ill send=I'll send;ill let=I'll let",
)
_FRENCH = _table(
    "jai=j'ai;javais=j'avais;jarrive=j'arrive;jespère=j'espère;jespere=j'espère;jetais=j'étais;"
    "jétais=j'étais;cest=c'est;cétait=c'était;cetait=c'était;daccord=d'accord;dacc=d'accord;"
    "aujourdhui=aujourd'hui;ajd=aujourd'hui;quil=qu'il;quils=qu'ils;quon=qu'on;jusqua=jusqu'à;"
    "jsuis=je suis;chuis=je suis;jsais=je sais;jvais=je vais;jpeux=je peux;jveux=je veux;jfais=je fais;jdois=je dois;"
    "jte=je te;jme=je me;jsp=je ne sais pas;jtm=je t'aime;tkt=ne t'inquiète pas;ya=y a;parceque=parce que;"
    "stp=s'il te plaît;svp=s'il vous plaît;bcp=beaucoup;tjs=toujours;tjrs=toujours;pk=pourquoi;pkoi=pourquoi;"
    "pcq=parce que;qqn=quelqu'un;qqch=quelque chose;rdv=rendez-vous;RDV=rendez-vous;bjr=bonjour;bsr=bonsoir;"
    "slt=salut;dsl=désolé;càd=c'est-à-dire;tlm=tout le monde;mtn=maintenant;vrmt=vraiment;"
    "ca=ça;lun.=lundi;mer.=mercredi;jeu.=jeudi;ven.=vendredi;sam.=samedi;dim.=dimanche;"
    "janv.=janvier;févr.=février;avr.=avril;juil.=juillet;déc.=décembre;c bon=c'est bon;c quoi=c'est quoi;tas vu=tu as vu;"
    "tes où=tu es où;chui=je suis;koi=quoi;g faim=j'ai faim;g pas=je n'ai pas;tt le monde=tout le monde;"
    "tt à l'heure=tout à l'heure;à tte=à tout à l'heure;a tte=à tout à l'heure;à+=à bientôt;"
    "d'acc=d'accord;dac=d'accord;cdlt=cordialement;cdt=cordialement;"
    "c. à soupe=cuillère à soupe;c. à café=cuillère à café;c. à s. de=cuillère à soupe de;c. à c. de=cuillère à café de",
    never_first="a+=à bientôt;cad=c'est-à-dire;ds=dans;jaime=j'aime;nest=n'est;SVP=s'il vous plaît",
    first="a demain=à demain;a bientot=à bientôt;a bientôt=à bientôt;ou es-tu=où es-tu;ou vas-tu=où vas-tu;ou est-il=où est-il;"
    "ou est-elle=où est-elle;ou sont-ils=où sont-ils;ou allez-vous=où allez-vous;ou êtes-vous=où êtes-vous;ou est le=où est le;"
    "ou est la=où est la;ou est mon=où est mon",
)
# After these it is what it says: as is his wont, tu jetais, 100 g pas plus.
_ANOTHER_WORD = {
    "wont": re.compile(r"\b(?:h(?:is|er)|its|their|my|our|your|is|are|was|were|be|been) \Z", re.I),
    "jetais": re.compile(r"\b(?:[jmtsl]e|tu|la|les|lui|leur|en|y) \Z", re.I),
    **dict.fromkeys(("ou est le", "ou est la", "ou est mon"), re.compile(r", \Z")),
    "g pas": re.compile(r"\d \Z"),
    "tas vu": re.compile(r"\b(?:une?|le|ce|des|les|gros) \Z", re.I),
}
_LONGEST_BEFORE = 7


def _any_of(words: Iterable[str]) -> str:
    """By their first letters, so that few are tried, and the longest first."""
    by_letter = sorted(words, key=lambda word: (word[0], -len(word), word))
    groups = groupby(by_letter, key=lambda word: word[0])
    return "|".join(
        f"{re.escape(first)}(?:{'|'.join(re.escape(word[1:]) for word in group)})"
        for first, group in groups
    )


MONTH = "(?:janv|févr|mars|avr|mai|juin|juil|août|sept|oct|nov|déc)"
"""as dates shorten it, or begin it"""


def _pattern(table: _Table) -> re.Pattern[str]:
    """Abbreviations with a stop are those of a date, before or after a number; la mer. and le jeu. before a day of a month."""
    dated = {
        each
        for words in (table.anywhere, table.at_beginnings)
        for each in words
        if each.endswith(".")
    }
    worded = {each for each in dated if each.lower() in ("mer.", "jeu.")}
    anywhere, beginnings = (
        _any_of(words.keys() - dated) for words in (table.anywhere, table.at_beginnings)
    )
    ways = [
        rf"(?<![\w'’.@#/-])(?:(?:{anywhere})|(?<!\w )(?:{beginnings}))(?![\w'’@/+-]|\.\w)",
    ]
    if dated:
        short = _any_of(dated - worded)
        ways += [
            rf"(?<!\w)(?:{short})(?= \d)|(?<=\d )(?:{short})",
            rf"(?<!\w)(?:{_any_of(worded)})(?= \d{{1,2}}(?:er)?(?: {MONTH}|/\d))",
        ]
    return re.compile("|".join(ways))


_TABLES = {
    language: (_pattern(table), {**table.at_beginnings, **table.anywhere})
    for language, table in (("en", _ENGLISH), ("fr", _FRENCH))
}

# 9am, No. 5, the '90s
_HOUR = re.compile(r"(?<=\d)(?=[ap]m\b)")
_NUMBER = re.compile(
    r"(?<!\w)[Nn]o\. ?(?=\d)(?!\d++ (?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|people)\b)"
)
_DECADE = re.compile(r"(?<!\w)'(?=[2-9]0s\b)")
# étudiant·e·s, salarié(e)s, venu.e.s: read in their first form; kW·h and i.e. are something else.
_BOTH_GENDERS = re.compile(
    r"(?<=[^\W\d_])(?:[·•‧][a-zéè]{0,4}e(?:[·•‧]?(s))?|\((?:e|ne|le|trice|rice|euse)\)(s)?|(?<=[^\W\d_]{2})\.e\.?(s)?|-e-(s))"
    r"(?![\w·.]\w|\w)"
)

_GENDER_SIGNS = ("·", "•", "‧", "(", ".e", "-e-")


def written_out(text: Respelt, language: str) -> Respelt:
    """
    >>> written_out(Respelt.of("Cant come, r u ok?"), "en").text
    "Can't come, are you ok?"
    >>> written_out(Respelt.of("Les étudiant·e·s, svp."), "fr").text
    "Les étudiants, s'il vous plaît."
    """
    if language not in _TABLES:
        return text
    pattern, table = _TABLES[language]
    text = text.with_each(pattern, lambda match: _in_full(match, table))
    if language == "fr":
        return text.with_each(_BOTH_GENDERS, _first_gender, *_GENDER_SIGNS)
    text = text.with_each(_HOUR, lambda match: " ", "am", "pm")
    text = text.with_each(_NUMBER, lambda match: "number ", "o.")
    return text.with_each(_DECADE, lambda match: "19", "0s")


def _in_full(match: re.Match[str], table: Mapping[str, str]) -> str:
    start, short = match.start(), match[0]
    other = _ANOTHER_WORD.get(short)
    is_other = other and other.search(match.string[max(0, start - _LONGEST_BEFORE) : start])
    return short if is_other else table[short]


def _first_gender(match: re.Match[str]) -> str:
    """With the s of several, unless it ends like that by itself."""
    before = match.string[match.start() - 1]
    return "s" if any(match.groups()) and before not in "sxz" else ""
