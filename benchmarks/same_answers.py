"""Whether the engines answer alike: torch and onnxruntime in fp32, int8 beside fp32, a sentence alone and in a batch.

    python benchmarks/same_answers.py --data FILE [--reference FILE] [--sentences 1000] [--save]

FILE holds French sentences, one a line, which the bundled model translates with its own settings. Where the two
engines differ in fp32, the sentence is shown. With references, chrF of each.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from record import Row, save

import regard
from regard.translate.evaluate import evaluate

ALONE = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="French sentences, one a line")
    parser.add_argument("--reference", type=Path, help="their translations, one a line")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    given = parser.parse_args()
    lines = given.data.read_text(encoding="utf-8").splitlines()[: given.sentences]
    engines = {
        "torch fp32": regard.load("fr-en", engine="torch"),
        "onnxruntime fp32": regard.load("fr-en", engine="onnxruntime", precision="fp32"),
        "onnxruntime int8": regard.load("fr-en", engine="onnxruntime"),
    }
    texts = {name: model.translate(lines) for name, model in engines.items()}
    rows: list[Row] = []
    exact = texts["torch fp32"]
    for name, translated in texts.items():
        row: Row = {"who": name, "sentences": len(lines)}
        row["as_torch"] = sum(a == b for a, b in zip(translated, exact, strict=True)) / len(lines)
        if given.reference is not None:
            references = given.reference.read_text(encoding="utf-8").splitlines()[: len(lines)]
            row["chrf"] = round(evaluate(translated, references).chrf, 2)
        rows.append(row)
        print(f"{name:<18} the text of torch fp32: {row['as_torch']:.2%}  chrF {row.get('chrf', '-')}")
    for line, ours, theirs in zip(lines, exact, texts["onnxruntime fp32"], strict=True):
        if ours != theirs:
            print(f"  {line}\n    torch        {ours}\n    onnxruntime  {theirs}")
    for name in ("onnxruntime fp32", "onnxruntime int8"):
        alone = [engines[name].translate(line) for line in lines[:ALONE]]
        same = sum(a == b for a, b in zip(alone, texts[name], strict=False))
        rows.append({"who": name, "alone": ALONE, "as_in_batch": same / len(alone)})
        print(f"{name:<18} alone as in a batch: {same} of {len(alone)}")
    ratios = {"same_text_torch_onnxruntime": rows[1]["as_torch"]}
    print(f"{'same_text_torch_onnxruntime':<36} {ratios['same_text_torch_onnxruntime']:.4f}")
    if given.save:
        save("same_answers", rows, ratios, "onnxruntime")


if __name__ == "__main__":
    main()
