"""The description of a run for the page: words, shapes, the search and the output. Tensors follow separately.

Every number is taken from the trace. At the end, the answers to questions about a run: the probability of a word, the
nearest tokens, the embeddings in a plane.
"""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from regard.config import ModelConfig, Position, to_dict
from regard.errors import UsageError
from regard.look.places import places
from regard.look.session import Run, Session
from regard.look.subject import Subject, words
from regard.model.position_criteria import judge
from regard.translate.trace import trace_pair

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
    subject, config = run.subject, run.subject.config
    sentences = run.trace.metadata.get("sentences", [])
    target = None
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
            "config": to_dict(config) | ({"num_heads": 1} if config.is_recurrent else {}),
            "num_parameters": sum(each.numel() for each in subject.network.parameters()),
            "source_language": subject.manifest.source_language,
            "target_language": subject.manifest.target_language,
        },
        "stages": sentences[run.sentence] if sentences else None,
        "sentences": [each["given"] for each in sentences],
        "sentence": run.sentence,
        "result": run.translation,
        "source": _side(subject, "source", run.source, run.read) if run.source else None,
        "target": target,
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
        "parameters": {
            name: list(value.shape) for name, value in subject.network.state_dict().items()
        },
        "criteria": None if config.is_recurrent else criteria(config),
        "code": places(config.is_recurrent),
        "changes": _changes(run),
        "compare": None,
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
        proposed = zip(record.top_tokens, record.top_probabilities, strict=True)
        top = [named(run.subject, *tokens) for tokens in proposed]
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
    rows = zip(tokens, subject.target.token_strings(tokens), probabilities, strict=True)
    return [
        {"token": token, "token_string": string, "probability": float(probability)}
        for token, string, probability in rows
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


def probability(run: Run, step: int, text: str) -> Document:
    """The probability of each token of a word at a step, given the tokens before it."""
    subject = run.subject
    if not 0 <= step <= len(run.output):
        raise UsageError(f"step must be from 0 to {len(run.output)}: got {step}")
    tokens = subject.target.encode(text.strip())
    if not tokens:
        raise UsageError("a word must have letters: got an empty one; type another")
    probabilities = [float(run.trace["probabilities"][step, tokens[0]])]
    for count in range(1, len(tokens)):
        written = [*run.output[:step], *tokens[:count]]
        trace = trace_pair(subject.network, run.source, written, run.plan.edits_at(0))
        probabilities.append(float(trace["probabilities"][-1, tokens[count]]))
    return {
        "step": step,
        "tokens": tokens,
        "token_strings": subject.target.token_strings(tokens),
        "probabilities": probabilities,
    }


def neighbours(run: Run, token: int, side: str, count: int = 10) -> Document:
    """The tokens whose rows of the embedding table have the largest cosine with this one's."""
    sides = [side for side in ("source", "target") if f"{side}.tokens" in run.trace]
    if side not in sides:
        raise UsageError(f"side must be {' or '.join(sides)}: got {side!r}")
    table = run.subject.table(side)
    if not 0 <= token < len(table):
        raise UsageError(f"token must be from 0 to {len(table) - 1}: got {token}")
    if count < 1:
        raise UsageError(f"count must be at least 1: got {count}")
    lengths = np.linalg.norm(table, axis=1)
    cosines = table @ table[token] / np.maximum(lengths * lengths[token], 1e-30)
    cosines[token] = -np.inf
    nearest = np.argsort(-cosines, kind="stable")[: min(count, len(table) - 1)].tolist()
    tokenizer = run.subject.tokenizer(side)
    return {
        "token": token,
        "token_string": tokenizer.token_strings([token])[0],
        "neighbours": [
            {"token": each, "token_string": string, "cosine": float(cosines[each])}
            for each, string in zip(nearest, tokenizer.token_strings(nearest), strict=True)
        ],
    }


def pca(run: Run) -> Document:
    """The embeddings of the sentence in the plane of their first two principal components."""
    sides = [side for side in ("source", "target") if f"{side}.embedding" in run.trace]
    points = np.concatenate([run.trace[f"{side}.embedding"] for side in sides]).astype(np.float64)
    centred = points - points.mean(axis=0)
    _, spread, axes = np.linalg.svd(centred, full_matrices=False)
    axes, spread = axes[:2], spread**2
    # The sign of an axis is arbitrary: the one that makes its largest component positive.
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.sign(axes[np.arange(len(axes)), largest])[:, None]
    plane = np.zeros((len(points), 2))
    plane[:, : len(axes)] = centred @ axes.T
    explained = np.zeros(2)
    explained[: len(axes)] = spread[:2] / max(spread.sum(), 1e-30)
    answer: Document = {"source": [], "target": [], "explained": explained.tolist()}
    for side in sides:
        count = len(run.trace[f"{side}.tokens"])
        answer[side], plane = plane[:count].tolist(), plane[count:]
    return answer
