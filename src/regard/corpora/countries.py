"""Countries and who comes from there, with the articles and prepositions that French wants."""

from __future__ import annotations

from regard.corpora.tables import Value

# Article, country, country in English, adjective of a man and of a woman, adjective in English.
_COUNTRIES = """
la France France français française French
la Belgique Belgium belge belge Belgian
la Suisse Switzerland suisse suisse Swiss
l' Allemagne Germany allemand allemande German
l' Italie Italy italien italienne Italian
l' Espagne Spain espagnol espagnole Spanish
l' Autriche Austria autrichien autrichienne Austrian
l' Angleterre England anglais anglaise English
l' Écosse Scotland écossais écossaise Scottish
l' Irlande Ireland irlandais irlandaise Irish
la Grèce Greece grec grecque Greek
la Turquie Turkey turc turque Turkish
la Pologne Poland polonais polonaise Polish
la Suède Sweden suédois suédoise Swedish
la Norvège Norway norvégien norvégienne Norwegian
la Finlande Finland finlandais finlandaise Finnish
la Hongrie Hungary hongrois hongroise Hungarian
la Russie Russia russe russe Russian
la Chine China chinois chinoise Chinese
l' Inde India indien indienne Indian
l' Australie Australia australien australienne Australian
l' Algérie Algeria algérien algérienne Algerian
la Tunisie Tunisia tunisien tunisienne Tunisian
l' Égypte Egypt égyptien égyptienne Egyptian
l' Iran Iran iranien iranienne Iranian
l' Argentine Argentina argentin argentine Argentinian
le Portugal Portugal portugais portugaise Portuguese
le Danemark Denmark danois danoise Danish
le Japon Japan japonais japonaise Japanese
le Canada Canada canadien canadienne Canadian
le Mexique Mexico mexicain mexicaine Mexican
le Brésil Brazil brésilien brésilienne Brazilian
le Maroc Morocco marocain marocaine Moroccan
le Sénégal Senegal sénégalais sénégalaise Senegalese
le Vietnam Vietnam vietnamien vietnamienne Vietnamese
les États-Unis the_United_States américain américaine American
les Pays-Bas the_Netherlands néerlandais néerlandaise Dutch
"""


def countries() -> dict[str, list[Value]]:
    """What fills each slot of a country."""
    found: dict[str, list[Value]] = {}
    for line in _COUNTRIES.strip().splitlines():
        article, name, english_name, man, woman, adjective = line.split(" ")
        english_name = english_name.replace("_", " ")
        whole = f"{article}{name}" if article == "l'" else f"{article} {name}"
        if article == "les":
            place, origin = f"aux {name}", f"des {name}"
        elif article == "le":
            place, origin = f"au {name}", f"du {name}"
        else:
            place, origin = f"en {name}", f"d'{name}" if article == "l'" else f"de {name}"
        found.setdefault("in country", []).append((place, f"in {english_name}"))
        found.setdefault("to country", []).append((place, f"to {english_name}"))
        found.setdefault("of country", []).append((origin, f"from {english_name}"))
        if article != "les":
            found.setdefault("the country", []).append((whole, english_name))
        found.setdefault("man of", []).append((man, adjective))
        found.setdefault("woman of", []).append((woman, adjective))
    return found
