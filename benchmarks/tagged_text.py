"""Tags of documents through the bundled models: `python benchmarks/tagged_text.py [--save]`.

tagged_sentences.txt holds sentences with tags as authors set them; words are drawn for their slots by a seed, and half
of the sentences get their tags at random words instead. Each is written as HTML, as a unit of XLIFF (1.2 and 2 by turns)
and as a paragraph of a .docx, translated by itself, and read again by ElementTree alone. What is checked:

    tags        every tag is there once and inside the tag that it was inside before
    words       the text without tags has every word of the translation that the model gave
    spaces      that text has the translation's own spaces, and no tag has white space inside at its edge
    whole       no word is cut by a tag, unless the source's was
    same        a tag around a name, number or address is around just that again
    note        the mark of a footnote follows a word or its punctuation mark

`agrees` is a measure of place, not a property: the share of tags around words that enclose at least one word that the
model also writes for these words alone (their first four letters count). `in parts` is the share of sentences that were
translated in parts.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import zipfile
from collections import Counter
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import record

import regard
from regard.documents.document import SUFFIXES, translate_document

HERE = Path(__file__).parent
DIRECTIONS = (("en", "fr"), ("fr", "en"))
SHAPES = (".html", ".xliff", ".docx")
PROPERTIES = ("tags", "words", "spaces", "whole", "same", "note")
NUM_SENTENCES = 100
"""sentences of each direction, each in every shape"""
_TAG = re.compile(r"\[(\w+)(:)?|\]")
_SLOT = re.compile(r"\{(\w+)\}")
_CODES = ("config_v2.ini", "max_count", "--verbose")
_OBJECT = "\ufffc"
_STAND_IN = r"\{\d+\}|\bX\d+\b"
_AROUND = "abis"
"""tags that random words get"""
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "application/vnd.openxmlformats-"

Node = tuple[str, int, list[Any]]
"""kind, number and children of a tag; children are texts and tags"""


class Tag(NamedTuple):
    parent: int
    text: str
    before: str
    """text of the sentence up to the tag"""
    after: str


def read_sentences(language: str, number: int, draw: random.Random) -> list[Node]:
    """Sentences as trees, half of them with the author's tags."""
    lines = (HERE / "tagged_sentences.txt").read_text("utf-8").splitlines()
    words = dict(line[1:].split("\t") for line in lines if line.startswith("="))
    templates = [line.split("\t")[1] for line in lines if line.startswith(f"{language}\t")]
    found = []
    for place in range(number):
        text = templates[place % len(templates)]
        text = _SLOT.sub(lambda slot: draw.choice(words[f"{slot[1]}.{language}"].split("|")), text)
        found.append(_tree(text if (place + place // len(templates)) % 2 else _with_random_tags(text, draw), draw))
    return found


def _with_random_tags(text: str, draw: random.Random) -> str:
    plain = re.sub(r" ?\[(?:note|anchor|icon|value|code)\]|\[\w+:|\]", "", text)
    # Nobody marks a part of a number or an address.
    words = list(re.finditer(r"[^\W\d][\w'’-]*(?![@.]\w)", plain))
    edits: list[tuple[int, str]] = []
    places = range(0, len(words) - 2, 3)
    for first in sorted(draw.sample(places, min(3, len(places)))):
        last = min(first + draw.randrange(3), len(words) - 1)
        edits += [(words[first].start(), f"[{draw.choice(_AROUND)}:"), (words[last].end(), "]")]
    for at, mark in reversed(edits):
        plain = plain[:at] + mark + plain[at:]
    return plain


def _tree(text: str, draw: random.Random) -> Node:
    root: Node = ("root", 0, [])
    stack, cursor, number = [root], 0, 0
    for match in _TAG.finditer(text):
        stack[-1][2].append(text[cursor : match.start()])
        cursor = match.end()
        if match[0] == "]" and len(stack) > 1:
            stack.pop()
            continue
        if match[0] == "]":
            continue
        number += 1
        node: Node = (match[1], number, [])
        stack[-1][2].append(node)
        if match[2]:
            stack.append(node)
        elif match[1] == "code":
            node[2].append(draw.choice(_CODES))
    stack[-1][2].append(text[cursor:])
    return root


# --- the shapes


def as_html(node: Node | str) -> str:
    if isinstance(node, str):
        return escape(node, quote=False)
    kind, number, children = node
    content = "".join(map(as_html, children))
    names = {"a": "a", "b": "b", "i": "em", "s": "span", "same": "a", "code": "code", "anchor": "a"}
    if kind == "root":
        return f"<p>{content}</p>"
    if kind == "note":
        return f'<sup id="t{number}">{number}</sup>'
    if kind in ("icon", "value"):
        return f'<img id="t{number}" src="{kind}.png"/>'
    return f'<{names[kind]} id="t{number}">{content}</{names[kind]}>'


def as_xliff(node: Node | str, is_new: bool) -> str:
    if isinstance(node, str):
        return escape(node, quote=False)
    kind, number, children = node
    content = "".join(as_xliff(each, is_new) for each in children)
    if kind == "root":
        return f"<source>{content}</source>"
    if kind in ("note", "icon", "value", "anchor", "code"):
        return f'<ph id="t{number}"/>' if is_new else f'<x id="t{number}"/>'
    name = "pc" if is_new else "g"
    return f'<{name} id="t{number}">{content}</{name}>'


def as_runs(node: Node | str, format: str = "") -> str:
    if isinstance(node, str):
        return f'<w:r>{_rpr(format)}<w:t xml:space="preserve">{escape(node, quote=False)}</w:t></w:r>' if node else ""
    kind, number, children = node
    format += f'<w:color w:val="{number:06d}"/>' if kind in "bis" else ""
    content = "".join(as_runs(each, format) for each in children)
    if kind in ("a", "same"):
        return f'<w:hyperlink w:anchor="t{number}">{content}</w:hyperlink>'
    if kind == "note":
        return f'<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="{number}"/></w:r>'
    if kind in ("icon", "value"):
        return f'<w:r><w:drawing w:name="t{number}"/></w:r>'
    if kind == "anchor":
        return f'<w:bookmarkStart w:id="{number}" w:name="t{number}"/><w:bookmarkEnd w:id="{number}"/>'
    return content


def _rpr(format: str) -> str:
    return f"<w:rPr>{format}</w:rPr>" if format else ""


def as_document(root: Node, suffix: str, source: str, place: int) -> bytes:
    if suffix == ".html":
        return as_html(root).encode()
    if suffix == ".xliff":
        inner = as_xliff(root, bool(place % 2))
        if place % 2:
            return f'<xliff version="2.0" srcLang="{source}"><file><unit><segment>{inner}</segment></unit></file></xliff>'.encode()
        return f'<xliff version="1.2"><file source-language="{source}"><body><trans-unit>{inner}</trans-unit></body></file></xliff>'.encode()
    members = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="xml" ContentType="{_OFFICE}'
        'officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" Type="{_R}/officeDocument" '
        'Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{_W}"><w:body><w:p>{as_runs(root)}</w:p></w:body></w:document>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


# --- reading again, by ElementTree


def read_tags(data: bytes, suffix: str, kinds: dict[int, str]) -> tuple[str, dict[int, list[Tag]]]:
    """The text without tags, a sign for each object, and every tag by its number."""
    if suffix == ".docx":
        data = zipfile.ZipFile(io.BytesIO(data)).read("word/document.xml")
    root = ElementTree.fromstring(data)
    if suffix == ".xliff":
        [root] = [each for each in root.iter() if each.tag == "target"] or [
            each for each in root.iter() if each.tag == "source"
        ]
    spans: list[list[int]] = []
    text = _walk(root, 0, "", spans, kinds)
    found: dict[int, list[Tag]] = {}
    for number, parent, start, end in spans:
        found.setdefault(number, []).append(Tag(parent, text[start:end], text[:start], text[end:]))
    return text, found


def _walk(element: ElementTree.Element, parent: int, text: str, spans: list[list[int]], kinds: dict[int, str]) -> str:
    name = element.tag.split("}")[-1]
    number, start = _number(element, name), len(text)
    kind = kinds.get(number)
    is_object = kind in ("icon", "value") or (kind == "code" and name in ("x", "ph", "code"))
    if is_object or kind == "note":
        text += _OBJECT * is_object
    else:
        text += element.text or ""
        for child in element:
            text = _walk(child, number or parent, text, spans, kinds) + (child.tail or "")
    if number and number != parent:
        before = next((each for each in spans if each[:2] == [number, parent] and each[3] == start), None)
        if name == "r" and before:  # a run is cut by what is inside
            before[3] = len(text)
        else:
            spans.append([number, parent, start, len(text)])
    return text


def _number(element: ElementTree.Element, name: str) -> int:
    if name == "r":
        color = element.find(f"{{{_W}}}rPr/{{{_W}}}color")
        # A run inside another tag has the outer one's colour first.
        colors = element.findall(f"{{{_W}}}rPr/{{{_W}}}color")
        return int(colors[-1].get(f"{{{_W}}}val", "0")) if color is not None else 0
    for key in ("id", f"{{{_W}}}anchor", f"{{{_W}}}name"):
        if re.fullmatch(r"t\d+", value := element.get(key, "")):
            return int(value[1:])
    return int(element.get(f"{{{_W}}}id", "0")) if name == "footnoteReference" else 0


# --- what must hold


class Result(NamedTuple):
    broken: list[str]
    in_parts: bool
    agreeing: int
    around: int
    """tags around words whose place can be compared"""
    output: str


def check(
    root: Node, data: bytes, suffix: str, model: regard.Model, languages: tuple[str, str], alone: dict[str, str]
) -> Result:
    answers: list[list[str]] = []

    def translate(texts: list[str]) -> list[regard.Translation]:
        found = model.translate(texts, details=True, alignment=True)
        answers.append([each.text for each in found])
        return found

    document = translate_document(data, suffix, translate, languages=languages)
    kinds = dict(_kinds(root))
    _, before = read_tags(data, suffix, kinds)
    text, after = read_tags(document.data, suffix, kinds)
    broken = []
    parents = [{number: [tag.parent for tag in tags] for number, tags in each.items()} for each in (before, after)]
    if parents[0] != parents[1]:
        broken.append("tags")
    in_parts = any(segment.doubt for segment in document.segments)
    shown = "|".join([_STAND_IN, *map(re.escape, _CODES if suffix == ".html" else ())])
    wanted = [re.sub(shown, _OBJECT, answer) for answer in (answers[-1] if answers else [])]
    if Counter(re.findall(r"\w+", " ".join(wanted))) - Counter(re.findall(r"\w+", text)):
        broken.append("words")
    if not _is_spaced(text) or any(tag.text != tag.text.strip() for tag in chain(*after.values())):
        broken.append("spaces")
    elif not in_parts and len(wanted) == 1 and _without_objects(text) != _without_objects(wanted[0]):
        broken.append("spaces")
    if any(map(_cuts, chain(*after.values()))) and not any(map(_cuts, chain(*before.values()))):
        broken.append("whole")
    for number, kind in kinds.items():
        [*new], [*old] = after.get(number, []), before.get(number, [])
        is_same = kind == "same" and bool(new) and old[0].text in text
        if is_same and [tag.text for tag in new] != [tag.text for tag in old]:
            broken.append("same")
        if kind == "note" and new and not re.search(r"[\w.,;:!?»”\")]$", new[0].before):
            broken.append("note")
    agreeing = around = 0
    for number, tags in before.items():
        if kinds.get(number) in ("a", "b", "i", "s") and number in after:
            around += 1
            own = _stems(alone.setdefault(tags[0].text, "") or model.translate(tags[0].text))
            agreeing += bool(own & _stems(after[number][0].text))
    output = f"{text} {dict(after)}" if suffix == ".docx" else document.data.decode()
    return Result(list(dict.fromkeys(broken)), in_parts, agreeing, around, output)


def _kinds(node: Node) -> list[tuple[int, str]]:
    return [(node[1], node[0])] + [each for child in node[2] if not isinstance(child, str) for each in _kinds(child)]


def _is_spaced(text: str) -> bool:
    """Whether no space is missing or too many, in either language."""
    around = rf"\w{_OBJECT}|{_OBJECT}\w"
    return not re.search(rf"\s\s|\w[«(]|[»)]\w|\s[.,)]|[(]\s|[,;]\w|{around}", text.strip())


def _without_objects(text: str) -> str:
    return re.sub(rf" ?{_OBJECT}|^{_OBJECT} ", "", text).strip()


def _cuts(tag: Tag) -> bool:
    edges = ((tag.before[-1:], tag.text[:1] or tag.after[:1]), (tag.text[-1:], tag.after[:1]))
    return any(left.isalnum() and right.isalnum() for left, right in edges)


def _stems(text: str) -> set[str]:
    return {word[:4] for word in re.findall(r"\w+", text.casefold())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true", help="write results/tagged_text.json")
    parser.add_argument("--show", action="store_true", help="print what is broken")
    parser.add_argument("--before", type=Path, help="results of an earlier version, kept as its own rows")
    arguments = parser.parse_args()
    rows: list[record.Row] = []
    for source, target in DIRECTIONS:
        model = regard.load(source_language=source, target_language=target)
        sentences = read_sentences(source, NUM_SENTENCES, random.Random(f"tags {source}"))
        for suffix in SHAPES:
            if suffix not in SUFFIXES:
                continue
            alone: dict[str, str] = {}
            broken: Counter[str] = Counter()
            results = []
            for place, root in enumerate(sentences):
                data = as_document(root, suffix, source, place)
                result = check(root, data, suffix, model, (source, target), alone)
                broken.update(result.broken)
                results.append(result)
                if arguments.show and (result.broken or result.in_parts):
                    print(*result.broken, "in parts" * result.in_parts, as_html(root), "=>", result.output, sep="  ")
            num_around = sum(each.around for each in results)
            row = {"version": "this", "shape": suffix, "languages": f"{source}-{target}", "sentences": len(results)}
            row |= {
                "whole and right": sum(not each.broken for each in results),
                "in parts": sum(each.in_parts for each in results),
            }
            row |= {f"broken: {name}": broken[name] for name in PROPERTIES}
            row |= {"agrees": round(sum(each.agreeing for each in results) / num_around, 4)}
            rows.append(row)
            print(row)
    if arguments.before:
        import json

        earlier = json.loads(arguments.before.read_text("utf-8"))["rows"]
        rows = [{**row, "version": "before"} for row in earlier if row["version"] == "this"] + rows
    if arguments.save:
        print(record.save("tagged_text", rows, {}))


if __name__ == "__main__":
    main()
