"""Words as they are typed in haste, on a telephone above all, written out: no apostrophes, and few letters.

A model that has not met them guesses, and the worst guess is easy: without its apostrophe "I dont know" is knowing. Only
what can be no other word is here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby

from regard.text.respelling import Respelt


def _table(text: str, never_first: str) -> dict[str, str]:
    """As they stand there and with a capital; what with a capital is something else comes last."""
    written = dict(pair.split("=") for pair in text.split(";"))
    capital = {
        short[0].upper() + short[1:]: full[0].upper() + full[1:] for short, full in written.items()
    }
    return capital | written | dict(pair.split("=") for pair in never_first.split(";"))


_ENGLISH = _table(
    "dont=don't;cant=can't;wont=won't;didnt=didn't;doesnt=doesn't;isnt=isn't;arent=aren't;wasnt=wasn't;werent=weren't;"
    "hasnt=hasn't;havent=haven't;hadnt=hadn't;couldnt=couldn't;wouldnt=wouldn't;shouldnt=shouldn't;im=I'm;ive=I've;"
    "youre=you're;youve=you've;youll=you'll;theyre=they're;theyve=they've;theyll=they'll;weve=we've;thats=that's;"
    "whats=what's;wheres=where's;whos=who's;theres=there's;heres=here's;hes=he's;shes=she's;itll=it'll;"
    "r u=are you;thx=thanks;tysm=thank you so much;pls=please;plz=please;sry=sorry;ppl=people;msg=message;"
    "bday=birthday;tmrw=tomorrow;tmr=tomorrow;tho=though;thru=through;cuz=because;coz=because;gotta=have to;lemme=let me;"
    "gimme=give me;dunno=don't know;kinda=kind of;ofc=of course;smth=something;idk=I don't know;btw=by the way;"
    "nvm=never mind;ttyl=talk to you later;asap=as soon as possible;ASAP=as soon as possible;omg=oh my God;b4=before;"
    "gr8=great;l8r=later;thanx=thanks;luv=love;tbh=to be honest;imo=in my opinion;fyi=for your information;"
    "FYI=for your information;afaik=as far as I know;ily=I love you;brb=I'll be right back;hbu=how about you;"
    "wyd=what are you doing;'til=until;til=until;nope=no;yup=yes;c'mon=come on;y'all=you all;w/o=without;w/=with;"
    "ill be=I'll be;ill go=I'll go;ill come=I'll come;ill call=I'll call;"
    "ill see=I'll see;ill do=I'll do;ill try=I'll try;ill send=I'll send;ill let=I'll let;its a=it's a;its the=it's the;"
    "its not=it's not;its too=it's too;its so=it's so;its very=it's very;its just=it's just;its been=it's been;"
    "its ok=it's ok",
    "u r=you are;c u=see you;u=you;ur=your",
)
_FRENCH = _table(
    "jai=j'ai;javais=j'avais;jaime=j'aime;jarrive=j'arrive;jespère=j'espère;jespere=j'espère;jetais=j'étais;"
    "jétais=j'étais;cest=c'est;cétait=c'était;cetait=c'était;nest=n'est;daccord=d'accord;dacc=d'accord;"
    "aujourdhui=aujourd'hui;ajd=aujourd'hui;quil=qu'il;quils=qu'ils;quon=qu'on;jusqua=jusqu'à;"
    "jsuis=je suis;chuis=je suis;jsais=je sais;jvais=je vais;jpeux=je peux;jveux=je veux;jfais=je fais;jdois=je dois;"
    "jte=je te;jme=je me;jsp=je ne sais pas;jtm=je t'aime;tkt=ne t'inquiète pas;ya=y a;parceque=parce que;"
    "stp=s'il te plaît;svp=s'il vous plaît;bcp=beaucoup;tjs=toujours;tjrs=toujours;pk=pourquoi;pkoi=pourquoi;"
    "pcq=parce que;qqn=quelqu'un;qqch=quelque chose;rdv=rendez-vous;RDV=rendez-vous;bjr=bonjour;bsr=bonsoir;"
    "slt=salut;dsl=désolé;càd=c'est-à-dire;tlm=tout le monde;mtn=maintenant;vrmt=vraiment;"
    "ca=ça;lun.=lundi;mer.=mercredi;jeu.=jeudi;ven.=vendredi;sam.=samedi;dim.=dimanche;"
    "janv.=janvier;févr.=février;avr.=avril;juil.=juillet;déc.=décembre;c bon=c'est bon;c quoi=c'est quoi;tas vu=tu as vu;"
    "tes où=tu es où;chui=je suis;koi=quoi;g faim=j'ai faim;g pas=je n'ai pas;tt le monde=tout le monde;"
    "tt à l'heure=tout à l'heure;à tte=à tout à l'heure;a tte=à tout à l'heure;a+=à bientôt;à+=à bientôt;"
    "a demain=à demain;a bientot=à bientôt;a bientôt=à bientôt;d'acc=d'accord;dac=d'accord;cdlt=cordialement;cdt=cordialement;"
    "c. à soupe=cuillère à soupe;c. à café=cuillère à café;"
    "ou es-tu=où es-tu;ou vas-tu=où vas-tu;ou est-il=où est-il;ou est-elle=où est-elle;ou sont-ils=où sont-ils;"
    "ou allez-vous=où allez-vous;ou êtes-vous=où êtes-vous;ou est le=où est le;ou est la=où est la;ou est mon=où est mon",
    "cad=c'est-à-dire;ds=dans;SVP=s'il vous plaît",
)


def _any_of(words: Iterable[str]) -> str:
    """By their first letters, so that few are tried, and the longest first."""
    by_letter = sorted(words, key=lambda word: (word[0], -len(word)))
    groups = groupby(by_letter, key=lambda word: word[0])
    return "|".join(
        f"{re.escape(first)}(?:{'|'.join(re.escape(word[1:]) for word in group)})"
        for first, group in groups
    )


def _pattern(table: Mapping[str, str]) -> re.Pattern[str]:
    """Abbreviations with a stop are those of a date, before or after a number."""
    dated = _any_of(each for each in table if each.endswith("."))
    plain = _any_of(each for each in table if not each.endswith("."))
    found = rf"(?<![\w'’.@#/-])(?:{plain})(?![\w'’@/-]|\.\w)"
    return re.compile(
        rf"{found}|(?<!\w)(?:{dated})(?=\ \d)|(?<=\d\ )(?:{dated})" if dated else found
    )


_TABLES = {
    language: (_pattern(table), table) for language, table in (("en", _ENGLISH), ("fr", _FRENCH))
}

# 9am, No. 5, the '90s
_HOUR = re.compile(r"(?<=\d)(?=[ap]m\b)")
_NUMBER = re.compile(r"(?<!\w)[Nn]o\. ?(?=\d)")
_DECADE = re.compile(r"(?<!\w)'(?=[2-9]0s\b)")
# étudiant·e·s, salarié(e)s, venu.e.s: read in their first form.
_BOTH_GENDERS = re.compile(
    r"(?<=[^\W\d_])(?:[·•‧][a-zéè]{1,5}?(?:[·•‧]?(s))?|\((?:e|ne|le|trice|rice|euse)\)(s)?|\.e\.?(s)?|-e-(s))(?![\w·.]\w|\w)"
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
    text = text.with_each(pattern, lambda match: table[match[0]])
    if language == "fr":
        return text.with_each(_BOTH_GENDERS, _first_gender, *_GENDER_SIGNS)
    text = text.with_each(_HOUR, lambda match: " ", "am", "pm")
    text = text.with_each(_NUMBER, lambda match: "number ", "o.")
    return text.with_each(_DECADE, lambda match: "19", "0s")


def _first_gender(match: re.Match[str]) -> str:
    """With the s of several, unless it ends like that by itself."""
    before = match.string[match.start() - 1]
    return "s" if any(match.groups()) and before not in "sxz" else ""
