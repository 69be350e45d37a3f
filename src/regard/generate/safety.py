"""Crisis wording: plain English sentences of people in danger, and replies that send them to help.

A small model misses some of them, and a cheerful reply would do harm. Sentences that only sound like danger ("dying to
see it", "the traffic was murder") must not raise an alarm.
"""

import re
import tomllib
from pathlib import Path

_WORDING = tomllib.loads(Path(__file__).with_name("safety.toml").read_text("utf-8"))
_PARTS = {f"{{{name}}}": _WORDING[name] for name in ("relative", "wants", "now")}
DESPAIR, EMERGENCY, VIOLENCE = (_WORDING["dangers"][name]["reply"] for name in ("despair", "emergency", "violence"))


def _compiled(sign: str) -> re.Pattern[str]:
    for part, pattern in _PARTS.items():
        sign = sign.replace(part, pattern)
    return re.compile(sign)


_PATTERNS = [(_compiled(sign), each["reply"]) for each in _WORDING["dangers"].values() for sign in each["signs"]]
_MAX_CHARACTERS = 2000  # characters of a turn that are searched
_HELP = re.compile(r"(?i)\b(?:crisis line|help ?line|emergency number|ambulance|fire brigade|call the police)\b")


def reply_to_danger(text: str) -> str | None:
    """The reply to somebody in danger; None where the text names no danger."""
    said = text[:_MAX_CHARACTERS].lower()
    return next((reply for pattern, reply in _PATTERNS if pattern.search(said)), None)


def names_help(text: str) -> bool:
    """Whether a reply sends somebody to help."""
    return bool(_HELP.search(text))
