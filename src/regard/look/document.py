"""The description of a run for the page: words, shapes, the search and the output. Tensors follow separately.

Every number is taken from the trace. At the end: where the code computes each box of the page.
"""

import functools
import re
import tomllib
from pathlib import Path
from typing import Any, Final

import numpy as np

from regard.config import ModelConfig, Position, to_dict
from regard.look.run import Run
from regard.look.session import Session
from regard.look.subject import Subject, words
from regard.model.alibi import slopes
from regard.model.position import rotary_frequencies
from regard.model.position_criteria import judge

VERSION = 2  # 2: `token_strings` and `token_string` (was `pieces` and `piece`), `stages`, `sentences`
NUM_TOP = 20  # number of most probable tokens named at each position

_SCHEMES: Final[dict[Position, str]] = {
    "sinusoidal": "sine and cosine",
    "scaled": "position divided by length, 0 to 1",
    "integer": "the position as a number",
}
"""position schemes that the page compares"""

Document = dict[str, Any]


def document(session: Session, number: int = 0) -> Document:
    """The document of a run; that of the original contains the second model's, where there is one."""
    second = [describe(run) for run in session.unchanged[1:] if number == 0]
    return {**describe(session.run(number)), "compare": second[0] if second else None}


def describe(run: Run) -> Document:
    subject, config = run.subject, run.subject.config
    sentences = run.trace.metadata.get("sentences", [])
    target = changes = None
    if run.original is not None:
        changes = {
            "edits": [dict(change) for change in run.plan.changes],
            "original": run.original.number,
            "original_text": run.original.stage("restored"),
            "text": run.stage("restored"),
        }
    if config.has_decoder:
        target = _side(subject, "target", [config.bos_id, *run.output], run.written)
        target["num_given"] = run.num_given
        target["stop"] = run.found.hypotheses[0].stop if run.found.hypotheses else "end"
    return {
        "version": VERSION,
        "run": run.number,
        "title": run.text,
        "model": {
            "number": run.model,
            "name": subject.name,
            "architecture": config.architecture,
            "config": to_dict(config) | _of_heads(config),
            "num_parameters": sum(each.numel() for each in subject.network.parameters()),
            **{
                name: getattr(subject.manifest, name)
                for name in ("source_language", "target_language", "task", "pooling")
            },
            "mask": subject.manifest.tokenizer.mask,
            "step": subject.step,
        },
        "search": to_dict(run.decode) if config.has_decoder else None,
        "stages": sentences[run.sentence] if sentences else None,
        "sentences": [each["given"] for each in sentences],
        "sentence": run.sentence,
        "result": run.translation,
        "source": _side(subject, "source", run.source, run.stage("protected")) if run.source else None,
        "target": target,
        "tensors": {
            name: {"shape": list(value.shape)} for name, value in run.trace.items() if not name.startswith("steps.")
        }
        | (run.step.shapes() if run.step else {}),
        "training": run.step.describe(subject) if run.step else None,
        "hidden": {"encoder.self": None, "decoder.self": None if run.plan.sees_future else "future", "cross": None},
        "steps": _steps(run),
        "hypotheses": _hypotheses(run),
        "output": _output(run),
        "parameters": {name: list(value.shape) for name, value in subject.network.state_dict(keep_vars=True).items()},
        "criteria": None if config.is_recurrent else criteria(config),
        "code": places(config.is_recurrent),
        "changes": changes,
        "compare": None,
    }


def _hypotheses(run: Run) -> list[Document]:
    """The outputs that the search found, best first."""
    target = run.subject.target
    return [
        {name: getattr(each, name) for name in ("tokens", "score", "log_probability", "stop")}
        | {"token_strings": target.token_strings(each.tokens), "text": target.decode(each.tokens)}
        for each in run.found.hypotheses
    ]


def _of_heads(config: ModelConfig) -> Document:
    """What follows from the settings: heads, how many share a key, the angles of rotary pairs, and the slopes of ALiBi."""
    if config.is_recurrent:
        return {"num_heads": 1}
    return {
        "queries_per_key": config.num_heads // config.num_key_heads,
        "rotary_frequencies": rotary_frequencies(config).tolist() if config.position == "rotary" else [],
        "slopes": slopes(config.num_heads).tolist() if config.position == "alibi" else None,
    }


def _side(subject: Subject, side: str, tokens: list[int], text: str) -> Document:
    tokenizer = subject.tokenizer(side)
    strings = tokenizer.token_strings(tokens)
    spans = words(tokens, strings, tokenizer.special_ids)
    return {"text": text, "tokens": tokens, "token_strings": strings, "words": spans}


def _steps(run: Run) -> list[Document]:
    """The search: the hypotheses before each step, and the tokens that the model proposed."""
    strings_of, before = run.subject.target.token_strings, dict[tuple[int, ...], int]()
    steps: list[Document] = []
    for record in run.found.history:
        beams = []
        for tokens, score in zip(record.beams, record.scores, strict=True):
            parent = before.get(tuple(tokens[:-1])) if tokens else None
            beams.append({"tokens": tokens, "token_strings": strings_of(tokens), "score": score, "parent": parent})
        proposed = zip(record.top_tokens, record.top_probabilities, strict=True)
        steps.append({"beams": beams, "top": [named(run.subject, *tokens) for tokens in proposed]})
        before = {tuple(tokens): i for i, tokens in enumerate(record.beams)}
    return steps


def _output(run: Run) -> list[Document]:
    """The output of the full pass at each position, over the whole vocabulary."""
    probabilities = run.trace["probabilities"]
    answers = []
    for row, token in zip(probabilities, run.at_places, strict=True):
        best = np.argsort(-row, kind="stable")[:NUM_TOP].tolist()
        [chosen] = named(run.subject, [token], [row[token]])
        answers.append({**chosen, "top": named(run.subject, best, row[best])})
    return answers


def named(subject: Subject, tokens: list[int], probabilities: list[float]) -> list[Document]:
    """Tokens of the output with their probabilities."""
    rows = zip(tokens, subject.target.token_strings(tokens), map(float, probabilities), strict=True)
    return [{"token": token, "token_string": string, "probability": share} for token, string, share in rows]


@functools.cache
def criteria(config: ModelConfig) -> Document:
    """For each of the four criteria, whether each scheme meets it and what was measured."""
    rows = [
        {"criterion": row[0].criterion, "answers": [{"holds": each.holds, "text": each.measured} for each in row]}
        for row in zip(*(judge(config, kind) for kind in _SCHEMES), strict=True)
    ]
    return {"schemes": list(_SCHEMES.values()), "rows": rows}


_ROOT = Path(__file__).parents[1]
_KEPT = re.compile(r'keep\(trace, "(\w+)"')
"""most boxes have the names of the trace, and stand where their values are kept"""
_DEFINED = tomllib.loads(Path(__file__).with_name("boxes.toml").read_text("utf-8"))
"""the others"""


@functools.cache
def places(is_recurrent: bool = False) -> dict[str, Document]:
    """For each box of the page: the file and line where its value is kept in the trace."""
    found: dict[str, Document] = {}
    for folder in ["model/recurrent", "model"] if is_recurrent else ["model"]:
        for path in sorted((_ROOT / folder).glob("*.py")):
            kept = _KEPT.findall(path.read_text(encoding="utf-8"))
            found = {box: _place(path, f'keep(trace, "{box}"') for box in kept} | found
    defined = _DEFINED["transformer"] | (_DEFINED["recurrent"] if is_recurrent else {})
    return found | {box: _place(_ROOT / f"{file}.py", wanted) for box, (file, wanted) in defined.items()}


def source_file(name: str) -> str:
    """The text of a file that `places` names."""
    return (_ROOT / name.removeprefix("src/regard/")).read_text(encoding="utf-8")


def _place(path: Path, wanted: str) -> Document:
    """The first line with the wanted text."""
    line = path.read_text(encoding="utf-8").partition(wanted)[0].count("\n") + 1
    return {"file": f"src/regard/{path.relative_to(_ROOT).as_posix()}", "line": line}
