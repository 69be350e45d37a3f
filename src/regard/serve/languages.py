"""What languages are called."""

from __future__ import annotations

_NAMES = """
af Afrikaans; am Amharic; ar Arabic; az Azerbaijani; be Belarusian; bg Bulgarian; bn Bengali; bs Bosnian; ca Catalan;
cs Czech; cy Welsh; da Danish; de German; el Greek; en English; eo Esperanto; es Spanish; et Estonian; eu Basque;
fa Persian; fi Finnish; fr French; ga Irish; gl Galician; gu Gujarati; he Hebrew; hi Hindi; hr Croatian; hu Hungarian;
hy Armenian; id Indonesian; is Icelandic; it Italian; ja Japanese; ka Georgian; kk Kazakh; km Khmer; kn Kannada;
ko Korean; la Latin; lb Luxembourgish; lo Lao; lt Lithuanian; lv Latvian; mk Macedonian; ml Malayalam; mn Mongolian;
mr Marathi; ms Malay; mt Maltese; my Burmese; nb Norwegian Bokmål; ne Nepali; nl Dutch; nn Norwegian Nynorsk;
no Norwegian; pa Punjabi; pl Polish; ps Pashto; pt Portuguese; pt-BR Portuguese (Brazil); ro Romanian; ru Russian;
si Sinhala; sk Slovak; sl Slovenian; so Somali; sq Albanian; sr Serbian; sv Swedish; sw Swahili; ta Tamil; te Telugu;
th Thai; tl Tagalog; tr Turkish; uk Ukrainian; ur Urdu; uz Uzbek; vi Vietnamese; zh Chinese;
zh-Hans Chinese (simplified); zh-Hant Chinese (traditional)
"""
_BY_CODE = dict(entry.strip().split(" ", 1) for entry in _NAMES.split(";"))


def name_of(code: str) -> str:
    """In English; a code that is not in the list is its own name.

    >>> name_of("fr"), name_of("tlh")
    ('French', 'tlh')
    """
    return _BY_CODE.get(code, code)
