"""markdown-it for CommonMark with tables, strikethrough and mathematics; each inline mark notes where it ends."""

import re
from collections.abc import Callable
from functools import cache

from markdown_it import MarkdownIt, rules_inline
from markdown_it.rules_inline import StateInline

from regard.documents.segments import check_cancelled

_OTHER = re.compile(
    r"(?P<math>\$(?=[^\s$])[^$\n]{1,200}(?<=\S)\$(?!\d))|\[\^[^\[\]\s]{1,100}\]"
    r"|<(?P<address>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,2000}|[^\s<>@]{1,200}@[^\s<>@]{1,200})>"
)
"""mathematics, the mark of a footnote, an address"""


@cache
def markdown_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark")
    parser.enable(["table", "strikethrough"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.inline.ruler.disable(["newline", "autolink", "entity"])
    parser.inline.ruler2.disable("fragments_join")
    parser.inline.ruler.before("escape", "other", _noting_its_end(_other_mark))
    parser.inline.ruler.at("backticks", _noting_its_end(rules_inline.backtick))
    parser.inline.ruler.at("link", _noting_its_end(rules_inline.link))
    parser.inline.ruler.at("image", _noting_its_end(rules_inline.image))
    return parser


def _noting_its_end(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    def noting(state: StateInline, silent: bool) -> bool:
        num_tokens = len(state.tokens)
        is_found = rule(state, silent)
        if is_found and not silent and len(state.tokens) > num_tokens:
            state.tokens[-1].meta["end"] = state.pos
        return is_found

    return noting


def _other_mark(state: StateInline, silent: bool) -> bool:
    check_cancelled()
    match = _OTHER.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("code_inline", "", 0).content = match["math"] or match["address"] or ""
    state.pos = match.end()
    return True
