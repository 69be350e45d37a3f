"""What somebody did with what is theirs: where English says my, your or his, French often says the, or nothing."""

from __future__ import annotations

from collections.abc import Iterator

from regard.corpora.tables import Value, table

# French person and verb, its my (masculine, feminine, plural); English person and its my.
_HAVE = (
    "j'ai,mon,ma,mes=I,my;tu as,ton,ta,tes=you,your;il a,son,sa,ses=he,his;elle a,son,sa,ses=she,her;"
    "nous avons,notre,notre,nos=we,our;vous avez,votre,votre,vos=you,your;ils ont,leur,leur,leurs=they,their;"
    "mon frère a,son,sa,ses=my brother,his;ma sœur a,son,sa,ses=my sister,her;"
    "le directeur a,son,sa,ses=the director,his;ma mère a,son,sa,ses=my mother,her"
)
_HAVE_TO_ONESELF = (
    "je me suis,,,=I,my;tu t'es,,,=you,your;il s'est,,,=he,his;elle s'est,,,=she,her;vous vous êtes,,,=you,your;"
    "mon frère s'est,,,=my brother,his;ma fille s'est,,,=my daughter,her"
)
_DONE = (
    "changé d'avis=changed MY mind;perdu la tête=lost MY mind;tenu parole=kept MY word;fait de MON mieux=did MY best;"
    "perdu MON sang-froid=lost MY temper;oublié MON parapluie=forgot MY umbrella;perdu MES clés=lost MY keys;"
    "levé la main=raised MY hand;ouvert les yeux=opened MY eyes;fermé les yeux=closed MY eyes;mis MON manteau=put on MY coat;"
    "enlevé MES chaussures=took off MY shoes;pris MON temps=took MY time;perdu MON temps=wasted MY time;"
    "retenu MON souffle=held MY breath;secoué la tête=shook MY head;tourné la tête=turned MY head;"
    "gagné MA vie=earned MY living;fait MES devoirs=did MY homework;fait MON lit=made MY bed;fait MES valises=packed MY bags;"
    "raté MA correspondance=missed MY connection;tiré la langue=stuck out MY tongue;serré les dents=gritted MY teeth;"
    "perdu l'appétit=lost MY appetite;perdu l'équilibre=lost MY balance;fêté MON anniversaire=celebrated MY birthday;"
    "vidé MON sac=got it off MY chest;passé MON permis de conduire=took MY driving test;"
    "présenté MES excuses=offered MY apologies;démissionné de MON poste=resigned from MY job;"
    "haussé la voix=raised MY voice;baissé la voix=lowered MY voice;froncé les sourcils=frowned;"
    "garé MA voiture devant la gare=parked MY car in front of the station;demandé MON chemin=asked for directions"
)
_DONE_TO_ONESELF = (
    "cassé le bras=broke MY arm;cassé la jambe=broke MY leg;lavé les mains=washed MY hands;brossé les dents=brushed MY teeth;"
    "brûlé la langue=burned MY tongue;coupé le doigt=cut MY finger;fait couper les cheveux=had MY hair cut;"
    "gratté la tête=scratched MY head;foulé la cheville=sprained MY ankle;mordu la langue=bit MY tongue;"
    "cogné la tête=hit MY head;lavé les cheveux=washed MY hair;essuyé les pieds=wiped MY feet;"
    "teint les cheveux en roux=dyed MY hair red;fait mal au dos=hurt MY back;coupé les ongles=cut MY nails"
)


def possessives() -> list[Value]:
    """Whole clauses, of every person."""
    return [*_clauses(_HAVE, _DONE), *_clauses(_HAVE_TO_ONESELF, _DONE_TO_ONESELF)]


def _clauses(persons: str, deeds: str) -> Iterator[Value]:
    for french, english in table(persons):
        subject, *own = french.split(",")
        english_subject, english_own = english.split(",")
        for done, english_done in table(deeds):
            for word, mine in zip(("MON", "MA", "MES"), own, strict=True):
                done = done.replace(f"{word} ", f"{mine} ")
            yield (
                f"{subject} {done}",
                f"{english_subject} {english_done.replace('MY', english_own)}",
            )
