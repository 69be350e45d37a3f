"""The page as one file: its modules, its style and the numbers inside; no server and no network needed.

The script is named by its hash in the file's own security policy, which forbids every other script. The page's modules
become one script, in the order of the imports: where two have a name of their own in common, each of them is a function
that is called once and returns what it exports. The linker knows the forms that the page uses, named imports and exports
of declarations, and rejects any other. Needs only NumPy.
"""

import base64
import hashlib
import html
import itertools
import json
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

import numpy as np

_IMPORT = re.compile(r'^import\s+\{(?:(?! as )[\w\s,])*\}\s+from\s+"\./([\w./-]+)";?[ \t]*\n?', re.MULTILINE)
_DECLARED = re.compile(r"^export\s+((?:async\s+)?function(?:\s*\*)?|class|const)\s+(\w+)", re.MULTILINE)
_TOP_LEVEL = re.compile(
    r"^(?:export\s+)?(?:async\s+)?(?:function\b\s*\*?|class|const|let)\s+(\[[^\]]*\]|\{[^}]*\}|\w+)", re.MULTILINE
)
_DOCUMENTED = re.compile(
    r"^[ \t]*/\*\*.*?\*/[ \t]*\n|^[ \t]*//[^\n]*\n|/\*\* @\w+ [^*]*\*/ |^\t+|^\n", re.MULTILINE | re.DOTALL
)
"""what a browser has no use for: comments, types, indentation; and spaces and line ends around signs"""


def _template(inside: str) -> str:
    """A template in backticks, with `inside` what may stand in its expressions."""
    return rf"`(?:[^`\\$]|\\.|\$(?!\{{)|\$\{{(?:[^`{{}}]|\{{[^`{{}}]*\}}|{inside})*\}})*`"


_QUOTED = r"'(?:[^'\\\n]|\\.)*'|" + r'"(?:[^"\\\n]|\\.)*"|' + _template(_template(_template("(?!)")))
_PATTERN = (
    r"(?:(?<=[(,=:[!&|?{};>])|(?<=[(,=:[!&|?{};>] )|(?<=return ))/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/"
)
_SPACED = re.compile(rf"({_QUOTED}|{_PATTERN})| ?([=({{[,;:?<>&|!*%])\s?|\s?([)}}\]]) ?| ?([-+/]) (?![-+/*])")
"""what stays as it is, or a sign"""
_LEFT = re.compile(r"^[ \t]*(?:import\b(?!\.)|export\b).*$", re.MULTILINE)
_STYLE = re.compile(r'<link rel="stylesheet" href="(?:\./)?([\w.-]+)"\s*/?>')
_SCRIPT = re.compile(r'<script type="module" src="(?:\./)?([\w.-]+)"></script>')


def fill_page(title: str, data: dict[str, Any], contents: Mapping[str, str] | None = None) -> str:
    """The page's files put together around the data; with its engine's `contents`, by id, it runs models itself."""
    page = read_page("index.html")
    style = "\n".join(map(style_of, _STYLE.findall(page)))
    [entry] = _SCRIPT.findall(page)
    script = link(entry, read_page).replace("</script", "<\\/script")
    runs = " 'wasm-unsafe-eval'; worker-src blob:; connect-src 'self'" if contents else ""
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'{runs}; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    carried = [f'<script type="text/plain" id="{name}">{text}</script>\n' for name, text in (contents or {}).items()]
    page = _STYLE.sub("", page)
    page = re.sub(r"<title>[^<]*</title>", lambda _: f"<title>{html.escape(title)}</title>", page)
    page = page.replace("<head>", f"<head>\n{meta}", 1)
    page = page.replace("</head>", f"<style>{style}</style>\n</head>", 1)
    carried.append(f'<script type="application/json" id="regard-data">{as_json(data)}</script>\n')
    carried.append(f'<script type="module">{script}</script>')
    return _SCRIPT.sub(lambda _: "".join(carried), page)


def as_json(data: Any) -> str:
    """JSON that may stand inside of an element."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def as_frame(page: str) -> str:
    """A page inside another, such as a notebook's."""
    return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 900px; border: 0"></iframe>'


def binary(value: np.ndarray) -> bytes:
    """Little-endian float32 in C order: the format of every array for the page."""
    return np.ascontiguousarray(value, dtype="<f4").tobytes()


def encoded(value: np.ndarray) -> str:
    """The same as base64, for JSON."""
    return base64.b64encode(binary(value)).decode()


def read_page(name: str) -> str:
    return (resources.files("regard.look") / "page" / name).read_text(encoding="utf-8")


def style_of(name: str) -> str:
    """A style without what a browser has no use for."""
    text = re.sub(r"^[\t\n]+|^/\*[^*]*\*/\n", "", read_page(name), flags=re.MULTILINE)
    return re.sub(r"\s(?=[{}])|(?<=[:,{};])\s|;(?=\s*\})", "", text)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def link(entry: str, read: Callable[[str], str]) -> str:
    """The module `entry` and all it imports; `read` gives the text of a file. No two modules may export the same name."""
    texts: dict[str, str] = {}

    def visit(name: str) -> None:
        if name not in texts:
            text = read(name)
            for match in _IMPORT.finditer(text):
                visit(posixpath.join(posixpath.dirname(name), match[1]))
            texts[name] = text

    visit(entry)
    declared = {name: re.findall(r"\w+", " ".join(_TOP_LEVEL.findall(text))) for name, text in texts.items()}
    times = Counter(itertools.chain(*declared.values()))
    exported = Counter(each for text in texts.values() for _, each in _DECLARED.findall(text))
    assert max(exported.values(), default=0) <= 1, f"cannot link two exports of {exported.most_common(1)}"
    modules = [_linked(name, text, any(times[each] > 1 for each in declared[name])) for name, text in texts.items()]
    script = '(() => {\n"use strict";\n' + "".join(modules) + "})();"
    return tight(script)


def tight(script: str) -> str:
    """A script without the spaces and line ends around its signs, where they mean nothing."""
    return _SPACED.sub(lambda found: found[1] or found[2] or found[3] or found[4], script)


def _linked(name: str, text: str, is_function: bool) -> str:
    exports = ", ".join(declared for _, declared in _DECLARED.findall(text))
    text = _DOCUMENTED.sub("", _DECLARED.sub(r"\1 \2", _IMPORT.sub("", text)))
    left = _LEFT.search(text)
    assert left is None, f"{name}: cannot link {left.group()!r}" if left else ""
    return f"const {{ {exports} }} = (() => {{\n{text}return {{ {exports} }};\n}})();\n" if is_function else text
