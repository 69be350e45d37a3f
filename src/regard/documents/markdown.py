"""Markdown: paragraphs, headings, list items, quotations and cells are translated; code, targets and marks stay.

markdown-it finds blocks and inline marks. It says in which lines a block is, and the marks of a paragraph come in order;
both are enough to find everything again in the file.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, Literal

from markdown_it import MarkdownIt, rules_inline
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from regard.documents import html
from regard.documents.markup import inline_items, text_with_references, tokens
from regard.documents.segments import (
    LINE,
    Code,
    Item,
    Languages,
    Part,
    Segment,
    Slot,
    TextRun,
    check_cancelled,
    code_with,
    parts_of,
)
from regard.text import Span

_MAX_WORK = 10_000_000
"""brackets times characters of a paragraph; markdown-it takes time by it, and of a longer one the marks are not read"""
# What markdown-it does not know gets another spelling for it, line by line.
_LEFT_ALONE = re.compile(
    r"\A(---|\+\+\+)[ \t]*\n(?:.*\n)*?(?:\1|\.\.\.)[ \t]*$|^[ \t>]*\$\$[^$]*+\$\$[ \t]*$", re.MULTILINE
)
"""front matter, and mathematics on lines of their own"""
_SEEN_FIELD = re.compile(
    r"(?im)^(?:title|subtitle|linktitle|description|summary|abstract|excerpt|tagline|caption|alt)[ \t]*[:=][ \t]+"
    r"""(?:"([^"\\\n]*)"|'([^'\n]*)'|([^\s"'\[{&*!|>%@`#-][^\n]*?))[ \t]*\r?$"""
)
"""a field of the front matter that readers see, and its value"""
_NOT_PLAIN = re.compile(r"[\s\S]*(?::\s|:$|\s#)|[\"'\[\]{}&*!|>%@`#?,-]")
"""a value that YAML would not read as text"""
_TITLE = re.compile(r"""\s("[^"\\]+"|'[^'\\]+'|\([^()\\]+\))\s*\)?$""")
"""title of a link or an image, or of their targets' definition"""
_NOTE = re.compile(r"^([ \t>]*)(?:\[\^[^\[\]\s]{1,100}\]:[ \t]*|:[ \t]+(?=\S)|(?=\[[^\[\]\n]{1,200}\]:))", re.MULTILINE)
"""beginning of a footnote, of a term's meaning, or of the definition of a link, which may be right below these"""
_AS_ITEM = r"\1-   "  # a footnote as a list item: its further lines are indented by four as well
_ENDS_OF_NAMES = ("]", "][]")  # ends of a link or an image whose text is also the name of its target
_BEFORE_CONTENT = re.compile(r"(?:[ \t]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t]))*")  # marks of lists and quotations
_TASK = re.compile(r"\[[ xX]\][ \t]+")  # box of a task, where a list item begins
_CELL = re.compile(r"(?:[^|\\]|\\.|\\)+")
_HARD_BREAK = re.compile(r"(?:[ \t]{2}|(?<!\\)(?:\\\\)*\\)$")
_NOT_A_START = re.compile(r"(?:[-+*>:]|#{1,6})(?=\s|$)|\d{1,9}(?=[.)](?:\s|$))")
"""a beginning that would make something else of a paragraph"""
_ONLY_AT_A_START = ".)-+"  # marks only at the beginning of a paragraph, where `_with_plain_start` escapes them
_OTHER = re.compile(
    r"(?P<math>\$(?=[^\s$])[^$\n]{1,200}(?<=\S)\$(?!\d))|\[\^[^\[\]\s]{1,100}\]"
    r"|<(?P<address>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,2000}|[^\s<>@]{1,200}@[^\s<>@]{1,200})>"
)
"""mathematics, the mark of a footnote, an address"""
_TO_ESCAPE = re.compile(r"[\\`*\[\]<]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")


def escape(text: str) -> str:
    """Text with escapes, so that nothing in it is read as a mark."""
    return _TO_ESCAPE.sub(lambda match: f"\\{match.group()}", text)


def read(text: str, languages: Languages) -> tuple[list[Slot], list[str]]:
    return sorted(_MarkdownReader(text).slots(), key=lambda slot: slot.start), []


class _MarkdownReader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [match.span(1) for match in LINE.finditer(text)]
        self.env: dict[str, Any] = {}
        """links that the file defines"""

    def slots(self) -> Iterator[Slot]:
        plain = re.sub(r"\r\n?", "\n", self.text)
        plain = _LEFT_ALONE.sub(lambda match: "\n" * match.group().count("\n"), plain)
        plain = _NOTE.sub(_AS_ITEM, plain)
        if front := _LEFT_ALONE.match(self.text):
            yield from map(_field_slot, _SEEN_FIELD.finditer(self.text, 0, front.end()))
        level, row, is_head = 0, -1, False
        for token in _parser().parse(plain, self.env):
            if token.type in ("heading_open", "heading_close"):
                level = int(token.tag[1]) if token.nesting > 0 else 0
            elif token.type in ("thead_open", "thead_close"):
                is_head = token.nesting > 0
            elif token.type == "tr_open" and token.map:
                row = token.map[0]
                yield from self._row(row, is_head)
            elif token.type == "html_block" and token.map:
                begin, end = self._content(token.map[0])[0], self.lines[token.map[1] - 1][1]
                for slot in html.read(self.text[begin:end], ("", ""))[0]:
                    yield replace(slot, start=begin + slot.start, end=begin + slot.end)
            elif token.type == "inline" and token.map and token.map[0] != row:
                yield from self._paragraph(token.map[0], token.content.split("\n"), level)
        for definition in self.env.get("references", {}).values():
            start, end = self.lines[definition["map"][0]][0], self.lines[definition["map"][1] - 1][1]
            yield Slot(start, end, _with_title(self.text[start:end].rstrip()), is_aside=True)

    def _content(self, line: int) -> Span:
        """A line of the file, after the marks of lists and quotations."""
        start, end = self.lines[line]
        marks = _BEFORE_CONTENT.match(self.text, start, end)
        return marks.end() if marks else start, end

    def _row(self, line: int, is_head: bool) -> Iterator[Slot]:
        for cell in _CELL.finditer(self.text, *self._content(line)):
            row = self.lines[line][0]
            yield Slot(*cell.span(), self._parts([cell.span()]), row=row, is_head=is_head)

    def _paragraph(self, first: int, lines: Sequence[str], level: int) -> Iterator[Slot]:
        """One slot, or several where the lines have hard breaks between them."""
        spans: list[Span] = []
        for number, line in enumerate(map(str.strip, lines), first):
            at = self.text.rfind(line, *self.lines[number])
            if at < 0:  # a character that markdown-it replaces
                return
            if number == first and (task := _TASK.match(line)):
                at, line = at + task.end(), line[task.end() :]
            hard = _HARD_BREAK.search(self.text, at, self.lines[number][1])
            is_hard = hard is not None and number < first + len(lines) - 1
            spans.append((at, at + len(line) - (1 if is_hard and line.endswith("\\") else 0)))
            if is_hard:
                yield self._slot(spans, level)
                spans = []
        if spans:
            yield self._slot(spans, level)

    def _slot(self, lines: list[Span], level: int) -> Slot:
        parts = self._parts(lines)
        for place, part in enumerate(parts):
            if isinstance(part, Segment):
                parts[place] = replace(part, finish=_with_plain_start)
            if part != "":
                break
        return Slot(lines[0][0], lines[-1][1], parts, level)

    def _parts(self, lines: list[Span]) -> list[Part]:
        start, end = lines[0][0], lines[-1][1]
        # The marks of lists and quotations between the lines are white space for the parser.
        plain = self.text[slice(*lines[0])]
        for before, line in pairwise(lines):
            plain += "\n".ljust(line[0] - before[1]) + self.text[slice(*line)]
        items = self.inline(plain, self.text[start:end])
        return parts_of(items, escape, self.has_same_marks)

    def has_same_marks(self, one: str, other: str) -> bool:
        return self._marks(one) == self._marks(other)

    def _marks(self, text: str) -> Counter[tuple[str, str]]:
        """Everything that Markdown finds in a paragraph except its words."""
        return Counter(
            (item.kind, item.raw)
            for item in self.inline(text, text)
            if isinstance(item, Code)
            and item.kind != "break"
            # Text that is shown as it is, or escaped, is no mark.
            and not (item.kind == "kept" and item.raw in (item.shown, f"\\{item.shown}"))
        )

    def inline(self, text: str, in_file: str) -> list[Item]:
        """The items of a paragraph; in the file, other signs may stand for its line ends and the spaces after them."""
        if text.count("[") * len(text) > _MAX_WORK:
            return _as_in_file(inline_items(text), in_file)
        parser = _parser()
        found: list[Item] = []
        opened: list[tuple[int, int]] = []
        run, at = "", 0
        # Tokens come in order, so the sum of their lengths is where the next one begins.
        for token in parser.inline.parse(text, parser, self.env, []):
            if token.type == "text":
                run += token.content
                at += len(token.content)
                continue
            found += text_with_references(run)
            start, run = at, ""
            at = token.meta.get("end") or at + len(token.markup or token.content or "[")
            raw = text[start:at]
            if token.type == "link_open":
                opened.append((len(found), start))
            elif token.type == "link_close":
                place, start = opened.pop()
                if raw in _ENDS_OF_NAMES:
                    found[place:] = [code_with(text[start:at], text[start + 1 : at - len(raw)])]
                    continue
            found += self._items(token, raw, in_file[start:at])
        return _as_in_file([*found, *text_with_references(run)], in_file)

    def _items(self, token: Token, raw: str, in_file: str) -> Iterable[Item]:
        if token.type == "html_inline":
            [code] = inline_items(raw)
            seen = html.tag_parts(raw, next(tokens(raw))) if "\n" not in raw else []
            return [replace(code, parts=tuple(seen))] if isinstance(code, Code) and len(seen) > 1 else [code]
        if token.type == "text_special":
            is_text = raw[1] in _ONLY_AT_A_START
            return [TextRun(raw[1:], raw) if is_text else Code(raw, "kept", raw[1:])]
        if token.type == "code_inline":
            return [code_with(raw, token.content)]
        if token.type == "image":
            label, end = token.content, len("![") + len(token.content)
            if raw[end:] in _ENDS_OF_NAMES:
                return [Code(raw, "alone")]
            items = self.inline(label, in_file[len("![") : end])
            said = parts_of(items, escape, self.has_same_marks)
            return [Code(raw, "alone", parts=("![", *said, *_with_title(in_file[end:])))]
        kind: Literal["open", "close"] = "open" if token.nesting > 0 else "close"
        parts = _with_title(raw) if token.type == "link_close" else ()
        return [Code(raw, kind, name=token.markup or "[", parts=parts if len(parts) > 1 else ())]


def _with_title(raw: str) -> tuple[Part, ...]:
    """The end of a link or an image, with its title as a segment."""
    match = _TITLE.search(raw)
    if match is None or "\n" in raw:
        return (raw,)
    start, end, signs = match.start(1) + 1, match.end(1) - 1, raw[match.start(1)] + raw[match.end(1) - 1]
    parts = parts_of(inline_items(raw[start:end]), lambda text: _escaped(text, signs))
    return (raw[:start], *parts, raw[end:])


def _escaped(text: str, signs: str) -> str:
    return "".join(f"\\{each}" if each in f"{signs}\\" else each for each in text)


def _field_slot(match: re.Match[str]) -> Slot:
    """The value of a field, which gets quotation marks if it needs them."""
    group = match.lastindex or 1
    start, end = match.span(group)
    raw = match[group]

    def finish(written: str) -> str:
        if written == raw or group == 2:
            return written.replace("'", "’") if written != raw else raw
        is_plain = group == 3 and not _NOT_PLAIN.match(written)
        return written if is_plain or group == 1 else f'"{_escaped(written, chr(34))}"'

    parts = parts_of(inline_items(raw), lambda text: _escaped(text, '"') if group == 1 else text)
    return Slot(start, end, parts, finish=finish)


def _as_in_file(items: Iterable[Item], in_file: str) -> list[Item]:
    items = list(items)
    ends = accumulate((len(item.raw) for item in items), initial=0)
    return [replace(item, raw=in_file[start:end]) for item, (start, end) in zip(items, pairwise(ends), strict=True)]


def _with_plain_start(written: str) -> str:
    match = _NOT_A_START.match(written)
    at = match.end() if match and match.group().isdigit() else 0
    return f"{written[:at]}\\{written[at:]}" if match else written


@cache
def _parser() -> MarkdownIt:
    """CommonMark with tables, strikethrough and mathematics; each inline mark notes where it ends."""
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
