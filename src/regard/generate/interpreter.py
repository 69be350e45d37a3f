"""A turn of a conversation that asks for a translation: what of, from which language, and into which.

The installed translators answer it, as `translate` does, and not the chat model. `interpreter.toml` has the forms of such
a turn, in English and in French.
"""

import itertools
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regard.config import GenerateConfig
from regard.generate.safety import reply_to_danger
from regard.text.language import LANGUAGE_NAMES, guess, main_language, sure_language

_WORDING = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_NAMES = {"en": LANGUAGE_NAMES, "fr": {**LANGUAGE_NAMES, **_WORDING["names"]}}
_CODES = {name.lower(): code for code, name in (*LANGUAGE_NAMES.items(), *_WORDING["names"].items())}
_QUOTED = r"""(?:[«"“”„‹`]\s*(?P<text>.+?)\s*[»"“”›`]|(?<!\w)['‘](?P<text>.+?)'(?!\w))"""
_LANGUAGES = {side: rf"(?P<{side}>[^\W\d]+)" for side in ("from", "to")}
_PARTS = {"text": "(?P<text>.+?)", "quoted": _QUOTED, **_LANGUAGES, **_WORDING["parts"]}
_MAX_TURNS = 9  # last turns in which a text is looked for
_MIN_PROBABILITY = 0.2
"""probability of another language from which the meaning of words without quotation marks is a matter for translators"""

Pair = tuple[str, str]  # source and target language


class TranslationRequest(NamedTuple):
    text: str
    pair: Pair


class _Wanted(NamedTuple):
    text: str
    source: str  # languages that are named; else empty
    target: str
    home: str  # language of the turn itself
    kind: str  # forms, meanings or again
    is_quoted: bool


def _compiled(form: str, that: str = "") -> re.Pattern[str]:
    parts, count = {**_PARTS, "that": f"(?P<that>{that})"}, itertools.count()
    while (expanded := re.sub(r"\{([a-z]+)\}", lambda part: parts[part[1]], form)) != form:
        form = expanded
    # A group's name stands in a form as often as it is needed.
    return re.compile(re.sub(r"\(\?P<(\w+)>", lambda group: f"(?P<{group[1]}_{next(count)}>", form), re.I | re.S)


_QUOTATION, _WHOLE = _compiled("{quoted}"), _compiled(r"{quoted}\s*[.?!]?")
_FORMS = [
    (home, kind, _compiled(form, _WORDING[home]["that"]))
    for home in ("en", "fr")
    for kind in ("forms", "meanings", "again")
    for form in _WORDING[home][kind]
]


def fixed_reply(
    turns: Sequence[str], pairs: Sequence[Pair], options: GenerateConfig
) -> TranslationRequest | str | None:
    """What a chat model does not answer: words of danger, and what translators are asked for; None where it answers.

    Where no translator can do it, it is a sentence that says so; a model with a chat template answers that itself.
    """
    if danger := reply_to_danger(turns[-1]):
        return danger
    wanted = _wanted(turns[-_MAX_TURNS:]) if options.translates and pairs else None
    found = wanted and _answer(wanted, {(main_language(pair[0]), main_language(pair[1])): pair for pair in pairs})
    return found if isinstance(found, TranslationRequest) or options.chat_template == "lines" else None


def _answer(wanted: _Wanted, pairs: Mapping[Pair, Pair]) -> TranslationRequest | str | None:
    text, source, target, home, kind, is_quoted = wanted
    say: dict[str, str] = _WORDING[home]
    names = {code: _NAMES[home].get(code, code) for pair in (*pairs, (home, target)) for code in pair}
    known = ", ".join(say["into"].format(*(names[code] for code in pair)) for pair in pairs)
    if not text:
        return say["how"].format(known, names[next((into for _, into in pairs if into != home), home)])
    if not source:
        found = guess(text, [each for each, into in pairs if target in ("", into)] or [each for each, _ in pairs])
        if kind == "meanings" and not is_quoted and found.probability < _MIN_PROBABILITY:
            return None
        sure, known_here = sure_language(text), {code for pair in pairs for code in pair} - {target}
        source = sure if sure and sure not in known_here else main_language(found.language)
    if not target:
        target = home if source != home else next((into for each, into in pairs if each == source), home)
    if kind == "meanings" and source in (home, target):
        return None
    if source == target:
        return say["same"].format(names[target])
    pair = pairs.get((source, target))
    return TranslationRequest(text, pair) if pair else say["none"].format(known)


def _wanted(turns: Sequence[str]) -> _Wanted | None:
    turn = turns[-1].strip()
    plain = re.sub(r"[^\S\n]", " ", turn).replace("’", "'")
    for home, kind, form in _FORMS:
        if not (match := form.fullmatch(plain)):
            continue
        spans = {name.split("_")[0]: match.span(name) for name, part in match.groupdict().items() if part}
        found: dict[str, Any] = {name: turn[slice(*span)] for name, span in spans.items()}
        codes = {side: _CODES.get(found[side].lower()) for side in ("from", "to") if side in found}
        earlier = _wanted(turns[:-2]) if len(turns) > 2 else None
        if None in codes.values() or (kind == "again" and not earlier):
            continue
        text = _unquoted(found.get("text", ""))
        if kind == "again" and earlier:
            text = earlier.text
        elif "that" in found:
            quoted = None if earlier else _QUOTATION.search("".join(turns[-3:-2]))
            text = _unquoted(quoted[0]) if quoted else "".join(turns[-2:-1])
        target = found.get("other") or codes.get("to") or ""
        return _Wanted(text, codes.get("from") or "", target, home, kind, bool(_QUOTATION.search(plain)))
    return None


def _unquoted(text: str) -> str:
    inner = _WHOLE.fullmatch(text.strip().replace("’", "'"))
    return text.strip()[slice(*inner.span(inner.lastindex or 0))] if inner else text.strip()
