"""Crisis wording: plain English sentences of people in danger, and replies that send them to help.

A small model misses some of them, and a cheerful reply would do harm. Sentences that only sound like danger ("dying to
see it", "the traffic was murder") must not raise an alarm.
"""

import re

EMERGENCY = "Please call the emergency number now. I am only a program and cannot help you in time."
VIOLENCE = (
    "I am very sorry. Please get to safety and call the police or the emergency number now, and tell somebody you trust. "
    "I am only a program."
)
DESPAIR = (
    "I am very sorry that it is so bad. Please call a crisis line or the emergency number now, and stay with somebody "
    "you trust. I am only a program."
)

_RELATIVE = (
    r"(?:he|she|mum|mom|mother|dad|father|grandma|grandpa|grandmother|grandfather|husband|wife|partner|boyfriend|girlfriend|"
    r"stepdad|stepfather|uncle|aunt|brother|sister|son|daughter|baby|toddler|child|boy|girl|friend|neighbou?r|man|woman|"
    r"someone|somebody)"
)
_WANTS = (
    r"\bi(?:'m|m| am|'ll| will)?(?: just| really| only| still| keep)?"
    r" (?:going to|gonna|want to|wanna|about to|will|thinking (?:of|about)|wish i could) "
)
# Other words after it change the meaning: he won't wake up on school days.
_NOW = r"(?=\W*$|[.!?,;]| and\b| again\b| what\b| please\b| now\b| any ?more\b)"
_SIGNS: dict[str, tuple[str, ...]] = {
    DESPAIR: (
        _WANTS + r"(?:kill|hang|shoot|hurt|harm|cut)(?:ing)? myself\b(?! (?:laughing|a piece|some))",
        _WANTS + r"end(?:ing)? (?:it all|my (?:own )?life)\b(?! with)",
        _WANTS + r"(?:commit suicide|die\b(?! (?:of|from|laughing|lol|haha)))",
        r"\bi(?:'ve| have|ve)? been cutting (?:myself|my (?:arms?|wrists?|legs?))\b(?! shaving)",
        r"\bi(?:'m| am|m| feel) (?:feeling )?suicidal\b",
        r"\bi (?:do not|don't|dont) want to (?:live|be alive) (?:any ?more|any longer)\b",
        r"\b(?:i'd|id|i would) rather be dead\b",
        r"\b(?:nobody|no one) would miss me if i (?:was|were) (?:gone|dead)\b",
        r"\bi(?:'m| am|m) (?:standing|sitting) on (?:a|the) (?:bridge|roof|ledge|railing)\b",
        r"\bpills in my hand\b",
    ),
    EMERGENCY: (
        r"\b(?:isn't|isnt|not|stopped) breathing\b",
        rf"\b{_RELATIVE}(?:'s| is)? (?:isn't|isnt|not|won't|wont|doesn't|doesnt) (?:wake up|waking up|moving){_NOW}",
        rf"\b{_RELATIVE} (?:has |just ){{0,2}}collapsed\b",
        rf"\b(?:i'm|i am|{_RELATIVE}(?:'s| is|s)) (?:choking|unconscious|having a (?:heart attack|stroke|seizure))\b",
        r"\bi (?:have |just )?(?:took|taken|swallowed) (?:an overdose|a whole (?:box|bottle|packet) of|\d\d+ \w+)",
        r"\b(?:took|taken|swallowed) too many (?:of )?(?:\w+ ){0,2}(?:pills|tablets)\b",
        r"\bswallowed (?:a |some )?(?:button )?(?:battery|magnets?|bleach|poison|detergent)\b",
        r"\b(?:drank|drunk) (?:some )?(?:bleach|poison|antifreeze|detergent)\b",
        r"\b(?:my|the|our) (?:house|flat|apartment|building|kitchen|bedroom)(?: next door)? is (?:on fire|burning)\b",
        r"\bi (?:can )?smell gas\b|\bgas leak\b",
        r"\bsmoke (?:is )?coming (?:out of|from|under) (?:my|the) (?:bedroom |front )?(?:kitchen|bedroom|door|flat|socket)\b",
        r"\b(?:won't|wont|can't|cant|doesn't|doesnt) stop (?:the )?bleeding\b(?! gums)",
        r"\bi(?:'ve|ve| have)? (?:been|was|got) (?:shot|stabbed)\b(?! (?:down|in the back))",
    ),
    VIOLENCE: (
        rf"\b{_RELATIVE} (?:\w+ )?(?:hits|hit|beats|punched|strangled|slapped|choked) me"
        r"(?=\W*$|[.!?,]| and\b| again\b| (?:last night|tonight|today|yesterday)\b| in the (?:face|stomach)| on the head"
        r"| with (?:a|his|her) (?:belt|fist|stick|knife|bottle)| (?:when|because|every)\b)",
        r"\bbeat(?:s|en)? me up\b(?! the)",
        r"\bi (?:was|have been|got) (?:raped|molested)\b|\b(?:raped|molested) me\b",
        r"\btouch(?:es|ed)? me (?:and says?|down there|under my|at night)\b",
        r"\b(?:abuses|abused|abusing) me\b",
        r"\b(?:says?|said|threatened|threatens|told me)(?: that)?(?: he| she| they)?(?:'ll| will| would| to) (?:kill|stab|shoot) me\b",
        r"\bstabbed (?:my \w+|him|her|someone|somebody)\b(?! in the back)",
        r"\b(?:breaking|trying to break) into (?:my|the|our) (?:house|home|flat|apartment)\b",
        r"\bthere(?:'s| is|s) (?:a man|someone|somebody) in my (?:house|flat|room)\b",
        r"\b(?:man|guy|someone|somebody|stranger|he|ex)(?:'s| is| has been| keeps)? (?:following|stalking) me\b(?! (?:on|back)\b)",
        r"\b(?:spiked|put something in) my drink\b",
        r"\blocked me in (?:the|a|my) (?:room|bedroom|bathroom|basement|cellar|house|flat)\b",
    ),
}
_PATTERNS = [(re.compile(sign), reply) for reply, signs in _SIGNS.items() for sign in signs]
_MOST_CHARACTERS = 2000
"""characters of a turn that are searched"""
_HELP = re.compile(r"(?i)\b(?:crisis line|help ?line|emergency number|ambulance|fire brigade|call the police)\b")


def reply_to_danger(text: str) -> str | None:
    """The reply to somebody in danger; None where the text names no danger."""
    said = text[:_MOST_CHARACTERS].lower()
    return next((reply for pattern, reply in _PATTERNS if pattern.search(said)), None)


def names_help(text: str) -> bool:
    """Whether a reply sends somebody to help."""
    return bool(_HELP.search(text))
