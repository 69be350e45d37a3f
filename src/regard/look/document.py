"""The description of a run for the page: words, shapes, the search and the output. Tensors follow separately.

Every number is taken from the trace.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from regard.config import ModelConfig, Position, to_dict
from regard.look.places import places
from regard.look.session import Run, Session
from regard.look.subject import Subject, words
from regard.model.position_criteria import judge

VERSION = 2
"""2: `token_strings` and `token_string` (was `pieces` and `piece`), `stages`, `sentences`"""
NUM_TOP = 20
"""number of most probable tokens named at each position"""

_SCHEMES: Final[dict[Position, str]] = {
    "sinusoidal": "sine and cosine",
    "scaled": "position divided by length, 0 to 1",
    "integer": "the position as a number",
}
"""position schemes that the page compares"""

Document = dict[str, Any]


def document(session: Session, number: int = 0) -> Document:
    """The document of a run; that of the original contains the second model's, where there is one."""
    run = session.run(number)
    described = describe(run)
    if run.number == 0 and session.second is not None:
        described["compare"] = describe(session.second)
    return described


def describe(run: Run) -> Document:
    subject = run.subject
    return {
        "version": VERSION,
        "run": run.number,
        "title": run.text,
        "model": {
            "number": run.model,
            "name": subject.name,
            "architecture": subject.config.architecture,
            "config": to_dict(subject.config)
            | ({"num_heads": 1} if subject.config.is_recurrent else {}),
            "num_parameters": subject.num_parameters,
            "source_language": subject.manifest.source_language,
            "target_language": subject.manifest.target_language,
        },
        **_stages(run),
        "source": _side(subject, "source", run.source, run.read) if run.source else None,
        "target": _written(run) if subject.config.has_decoder else None,
        "tensors": {
            name: {"shape": list(value.shape)}
            for name, value in run.trace.items()
            if not name.startswith("steps.")
        },
        "hidden": {
            "encoder.self": None,
            "decoder.self": None if run.plan.sees_future else "future",
            "cross": None,
        },
        "steps": _steps(run),
        "hypotheses": [
            {
                "tokens": each.tokens,
                "token_strings": subject.target.token_strings(each.tokens),
                "text": subject.target.decode(each.tokens),
                "score": each.score,
                "log_probability": each.log_probability,
                "stop": each.stop,
            }
            for each in run.found.hypotheses
        ],
        "output": _output(run),
        "parameters": subject.parameter_shapes(),
        "criteria": None if subject.config.is_recurrent else criteria(subject.config),
        "code": places(subject.config.is_recurrent),
        "changes": _changes(run),
        "compare": None,
    }


def _stages(run: Run) -> Document:
    """The text of the sentence at each stage, the other sentences, and the whole result."""
    metadata = run.trace.metadata
    sentences = metadata.get("sentences", [])
    return {
        "stages": sentences[run.sentence] if sentences else None,
        "sentences": [each["given"] for each in sentences],
        "sentence": run.sentence,
        "result": run.translation,
    }


def _written(run: Run) -> Document:
    subject = run.subject
    return {
        **_side(subject, "target", [subject.config.bos_id, *run.output], run.written),
        "num_given": run.num_given,
        "stop": run.found.hypotheses[0].stop if run.found.hypotheses else "end",
    }


def _side(subject: Subject, side: str, tokens: list[int], text: str) -> Document:
    tokenizer = subject.tokenizer(side)
    strings = tokenizer.token_strings(tokens)
    spans = words(tokens, strings, tokenizer.special_ids)
    return {"text": text, "tokens": tokens, "token_strings": strings, "words": spans}


def _steps(run: Run) -> list[Document]:
    """The search: the hypotheses before each step, and the tokens that the model proposed."""
    target = run.subject.target
    steps: list[Document] = []
    before: dict[tuple[int, ...], int] = {}
    for record in run.found.history:
        beams = [
            {
                "tokens": tokens,
                "token_strings": target.token_strings(tokens),
                "score": score,
                "parent": before.get(tuple(tokens[:-1])) if tokens else None,
            }
            for tokens, score in zip(record.beams, record.scores, strict=True)
        ]
        top = [
            named(run.subject, tokens, probabilities)
            for tokens, probabilities in zip(
                record.top_tokens, record.top_probabilities, strict=True
            )
        ]
        steps.append({"beams": beams, "top": top})
        before = {tuple(tokens): i for i, tokens in enumerate(record.beams)}
    return steps


def _output(run: Run) -> list[Document]:
    """The output of the full pass at each position, over the whole vocabulary."""
    probabilities = run.trace["probabilities"]
    answers = []
    for row, token in zip(probabilities, run.at_places, strict=True):
        best = np.argsort(-row, kind="stable")[:NUM_TOP]
        [chosen] = named(run.subject, [token], [row[token]])
        answers.append({**chosen, "top": named(run.subject, best.tolist(), row[best].tolist())})
    return answers


def named(subject: Subject, tokens: list[int], probabilities: list[float]) -> list[Document]:
    """Tokens of the output with their probabilities."""
    return [
        {"token": token, "token_string": string, "probability": float(probability)}
        for token, string, probability in zip(
            tokens, subject.target.token_strings(tokens), probabilities, strict=True
        )
    ]


def _changes(run: Run) -> Document | None:
    if run.original is None:
        return None
    return {
        "edits": [dict(change) for change in run.plan.changes],
        "original": run.original.number,
        "original_text": run.original.restored,
        "text": run.restored,
    }


@functools.cache
def criteria(config: ModelConfig) -> Document:
    """For each of the four criteria, whether each scheme meets it and what was measured."""
    verdicts = [judge(config, kind) for kind in _SCHEMES]
    rows = [
        {
            "criterion": schemes[0].criterion,
            "answers": [{"holds": each.holds, "text": each.measured} for each in schemes],
        }
        for schemes in zip(*verdicts, strict=True)
    ]
    return {"schemes": list(_SCHEMES.values()), "rows": rows}
