"""What people write who are in danger, in plain English, and where it sends them.

A small model misses some of it, and there a cheerful word is worse than none. These are the plain wordings alone: what only
sounds like them ("dying to see it", "the traffic was murder") must not be met with alarm.
"""

from __future__ import annotations

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

_SOMEBODY = (
    r"(?:he|she|they|mum|mom|mummy|mother|dad|daddy|father|parents?|grandma|grandpa|gran|grandmother|grandfather|husband|"
    r"wife|partner|boyfriend|girlfriend|ex|stepdad|stepfather|stepmum|stepmother|uncle|aunt|cousin|brother|sister|son|"
    r"daughter|baby|toddler|kid|child|boy|girl|friend|neighbou?r|flatmate|roommate|colleague|teacher|coach|boss|man|woman|"
    r"guy|someone|somebody|stranger)"
)
_NOT = r"(?:not|isnt|isn't|wont|won't|doesnt|doesn't|cant|can't|cannot)"
_SIGNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        DESPAIR,
        (
            r"\b(?:kill|killing|hurting|cutting|harming|burning) myself\b(?! (?:laughing|trying|with work))",
            r"\b(?:want|wanted|going|need) to (?:hurt|cut|harm|burn) myself\b",
            r"\b(?:cut|cutting) my (?:arms?|wrists?|legs?|skin)\b",
            r"\b(?:suicidal|commit suicide)\b",
            r"\bend(?:ing)? (?:it all|my (?:own )?life)\b",
            r"\b(?:want|wanted|going|ready|wish i could) (?:to )?die\b(?! (?:of|from|laughing|lol|haha))",
            r"\b(?:do not|don't|dont) want to (?:live|be alive|wake up|be here) (?:any ?more|again|at all)\b",
            r"\b(?:better off|rather be) dead\b",
            r"\bno (?:point|reason) (?:in living|to live|to go on living)\b",
            r"\b(?:nobody|no one|noone) would (?:miss me|care if i (?:died|was dead))\b",
            r"\b(?:i|i'm|im)\b.{0,40}\b(?:bridge|roof|balcony|ledge|platform)\b.{0,30}\bjump\b",
            r"\b(?:i|i'm|im|i'll)\b.{0,30}\bjump (?:off|from) (?:a|the|this) (?:bridge|roof|balcony|building)\b",
            r"\bpills in my hand\b",
        ),
    ),
    (
        EMERGENCY,
        (
            rf"\b(?:{_SOMEBODY} (?:is )?|(?:he|she)'?s ){_NOT} (?:waking up|wake up|moving|responding)\b",
            rf"\b{_NOT} breathing\b",
            r"\b(?:am|i'm|im) (?:choking|having a (?:heart attack|stroke))\b",
            r"\bstopped breathing\b",
            rf"\b{_SOMEBODY} (?:has |have |had |just |suddenly )*(?:collapsed|passed out|overdosed)\b",
            rf"\b{_SOMEBODY} (?:is|are|s|'s) (?:choking|unconscious|drowning|having a (?:heart attack|stroke|seizure))\b"
            r"(?! (?:in|with) (?:work|paperwork|emails|debt))",
            r"\b(?:took|swallowed|taken) (?:too many|all (?:of )?my|a whole (?:box|bottle) of|a lot of) .{0,20}\b(?:pills|tablets)\b",
            r"\bswallowed (?:a |some )?(?:button )?(?:battery|magnets?|bleach|poison|detergent)\b",
            r"\b(?:drank|drunk) (?:some )?(?:bleach|poison|antifreeze|drain cleaner|detergent)\b",
            r"\b(?:house|flat|apartment|building|kitchen|bedroom|car|school)(?: next door)? is (?:on fire|burning)\b",
            r"\b(?:smell gas|gas leak)\b",
            r"\bsmoke (?:is )?coming (?:out of|from)\b",
            r"\bbleeding (?:badly|heavily|a lot|and (?:it )?(?:won't|wont) stop)\b",
        ),
    ),
    (
        VIOLENCE,
        (
            rf"\b{_SOMEBODY} (?:\w+ )?(?:hit|hits|(?:beat|beats) (?=me up)|punched|kicked|strangled|choked|slapped) ?me\b"
            r"(?! (?:at|in|by|to|on|with a (?:joke|question|message)))",
            r"\b(?:raped|molested)\b",
            rf"\b{_SOMEBODY} (?:keeps? )?(?:touches|touched|touching) me\b(?= (?:and|there|down|in|under|when))",
            r"\b(?:abuses|abused|abusing) me\b",
            r"\b(?:husband|wife|boyfriend|girlfriend|partner|ex|stepdad|man|guy|he|she|somebody|someone|stranger) .{0,20}\b(?:will|"
            r"going to|gonna|threatened to|wants to|threatens to) (?:kill|stab|shoot|rape) (?:me|us)\b",
            rf"\bstabbed (?:me|him|her|my {_SOMEBODY}|a {_SOMEBODY}|someone|somebody)\b(?! in the back)",
            r"\b(?:breaking|trying to break|broke) into my (?:house|home|flat|apartment|room)\b",
            rf"\b{_SOMEBODY} (?:is |'s |s |keeps )(?:following me|stalking me|waiting outside|watching my house)\b",
            r"\blocked me in\b",
            r"\bput something in my drink\b",
        ),
    ),
)
_READ = tuple((re.compile(sign), reply) for reply, signs in _SIGNS for sign in signs)
_MOST_CHARACTERS = 2000
"""of what somebody says at a time; a longer text is no cry for help"""


def reply_to_danger(text: str) -> str | None:
    """What is said to somebody who writes this, unless the model knows better; nothing where nobody is in danger.

    >>> reply_to_danger("my little brother isn't breathing") == EMERGENCY
    True
    >>> reply_to_danger("I'm dying to see that film.") is None
    True
    """
    said = text[:_MOST_CHARACTERS].lower()
    return next((reply for sign, reply in _READ if sign.search(said)), None)
