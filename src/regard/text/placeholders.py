"""What a program will fill in, or a reader will click on: it has to come back letter for letter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

# The repetitions are bounded so that a hostile text costs no more than its length.
PLACEHOLDER = re.compile(
    r"""
      \{\{[^{}\n]{0,200}\}\} | \{%[^{}\n]{0,200}%\}            # templates: {{ name }}, {% if %}
    | [%$\#]?\{[\w.\[\]!:,<>=^+|-]{0,100}\}                    # {}, {0}, {name:>10}, ${NAME}, %{name}, #{name}
    | %\([\w. -]{1,100}\)[-+\#0]{0,5}\d{0,9}(?:\.\d{1,9})?[a-zA-Z]   # %(name)s
    | %(?:\d{1,3}\$)?[-+\#0]{0,5}(?:\d{1,9}|\*)?(?:\.(?:\d{1,9}|\*))?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcspn@](?![^\W_])
    | %\d{1,2}(?!\w) | %%                                      # %1 of Qt, and the sign itself
    | </?(?:[A-Za-z][\w:.-]{0,50}(?:\s[^<>\n]{0,500})?|\d{1,3})/?>   # a tag where the format has none
    | \b(?:https?|ftp)://                                      # brackets in pairs, and no stop at the end
      (?:[^\s<>"'`()\]}“”«»]|\([^\s<>"'`()]{0,200}\)){0,2000}
      (?:[^\s<>"'`()\]}“”«».,;:!?]|\([^\s<>"'`()]{0,200}\))
    | \bwww\.[\w.-]{1,200}\w(?:/(?:[^\s<>"'`)\]}“”«»]{0,2000}[^\s<>"'`)\]}“”«».,;:!?])?)?
    | \b\w[\w.+-]{0,63}+@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}\b
    """,
    re.VERBOSE,
)

_MESSAGE = re.compile(r"\{\s{0,5}\w{1,50}+\s{0,5},\s{0,5}(?:plural|select|selectordinal)\s{0,5},")
_BRACE = re.compile("[{}]")
_LONGEST_MESSAGE = 2000


def icu_messages(text: str) -> Iterator[tuple[int, int]]:
    """Where a message of ICU stands, from its first brace to the one that closes it.

    >>> list(icu_messages("{n, plural, one {# cat} other {{n} cats}}!"))
    [(0, 41)]
    """
    end = 0
    for head in _MESSAGE.finditer(text):
        if head.start() < end:
            continue
        depth = 0
        for brace in _BRACE.finditer(text, head.start(), head.start() + _LONGEST_MESSAGE):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                end = brace.end()
                yield head.start(), end
                break


def placeholders(text: str) -> Counter[str]:
    """Each placeholder of a text with how often it stands there.

    >>> sorted(placeholders("%s and {name}: 100 % of {name}").items())
    [('%s', 1), ('{name}', 2)]
    """
    return Counter(PLACEHOLDER.findall(text))
