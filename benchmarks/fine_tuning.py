"""Three fine-tunings of a bundled model: what each gains on its own text, and what the model keeps of the news.

    python benchmarks/fine_tuning.py --data FOLDER [--only glossary] [--save]

captions  image captions, Multi30k; scored on test_2016_flickr
law       what was said in parliament, held out of Europarl; scored on later lines of the file
glossary  twenty words of a firm in sentences that are made here; scored on other sentences with these words

Every run is `regard train --init fr-en --pairs FILE --keep NEWS --threads 1`, with the plan that the trainer makes; two are
trained at a time, and one that was interrupted goes on. NEWS is every tenth line of newstest2012, and what is reported every
tenth of newstest2013. The model before and after is run in fp32 by the same engine, with its own beam.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import record

import regard
from regard.data.lines import read_lines
from regard.translate.evaluate import evaluate

PARENT = "fr-en"
TERMS = """
le tableau de bord = the cockpit; la fiche client = the patron sheet; le bon de commande = the buy slip
la facture = the tab note; le fournisseur = the source house; l'entrepôt = the store hall; le colis = the crate
la livraison = the drop; le devis = the price letter; l'échéance = the due mark; le virement = the bank move
l'acompte = the first share; la remise = the kindness; le stock = the shelf count; l'inventaire = the shelf round
le rayon = the aisle bay; la caisse = the till post; le vendeur = the floor hand; l'étiquette = the tag card
le retour = the send-back
"""
LEARNT = """
Veuillez vérifier {} avant midi. = Please check {} before noon.
Nous attendons {}. = We are waiting for {}.
Qui a modifié {} hier ? = Who changed {} yesterday?
Envoyez {} à notre bureau de Lyon. = Send {} to our office in Lyon.
J'ai perdu {}. = I have lost {}.
Il faut corriger {} aujourd'hui. = We must correct {} today.
Où avez-vous rangé {} ? = Where did you put {}?
Le directeur demande {}. = The director asks for {}.
Sans {}, rien ne commence. = Without {}, nothing begins.
Montrez-moi {}, s'il vous plaît. = Show me {}, please.
"""
ASKED = """
Avez-vous vu {} ce matin ? = Did you see {} this morning?
Elle a préparé {} pour lundi. = She prepared {} for Monday.
Gardez {} dans votre bureau. = Keep {} in your office.
On a oublié {}. = We forgot {}.
Mon collègue cherche {} depuis une heure. = My colleague has been looking for {} for an hour.
"""
Pairs = list[tuple[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with fr-en/ and multi30k/")
    parser.add_argument("--runs", type=Path, default=Path("runs/fine-tuning"), help="where the runs are kept")
    parser.add_argument("--only", choices=["captions", "law", "glossary"], help="one of the three")
    parser.add_argument("--pairs", type=int, default=400, help="pairs of captions; half as many of law")
    parser.add_argument("--lines", type=int, default=300, help="lines of each test set, and of the text to keep")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time, each on one thread")
    parser.add_argument(
        "--save", action="store_true", help="write benchmarks/results/fine_tuning.json and the page's table"
    )
    asked = parser.parse_args()
    asked.runs.mkdir(parents=True, exist_ok=True)
    news = every(read(asked.data / "fr-en/newstest2013"), asked.lines)
    keep = write(asked.runs / "keep.tsv", every(read(asked.data / "fr-en/newstest2012"), asked.lines))
    found = texts(asked.data, asked.pairs, asked.lines)
    names = [name for name in found if asked.only in (None, name)]
    with ThreadPoolExecutor(asked.jobs) as jobs:
        files = {name: write(asked.runs / f"{name}.tsv", found[name][0]) for name in names}
        started = {name: jobs.submit(train, name, files[name], keep, asked.runs) for name in names}
        runs = {name: run.result() for name, run in started.items()}
    parent, rows = regard.load(PARENT, precision="fp32"), []
    before_news = score(parent, news)
    for name, run in runs.items():
        tuned, result = regard.load(run, precision="fp32"), json.loads((run / "result.json").read_text())
        pairs, test = found[name]
        row = {"text": name, "pairs": len(pairs), "test": len(test), "news lines": len(news)}
        row |= {"before": score(parent, test), "after": score(tuned, test)}
        row |= {"news before": before_news, "news after": score(tuned, news)}
        rows.append(row | {"steps": result["steps"], "seconds": round(result["seconds"]["total"])})
        print(json.dumps(rows[-1]), flush=True)
    if asked.save:
        columns = {
            key: key for key in ("text", "pairs", "test", "before", "after", "news lines", "news before", "news after")
        }
        columns |= {"test": "lines", "steps": "steps", "seconds": "seconds"}
        record.save("fine_tuning", rows, {}, "sacrebleu")
        record.put_table("docs/how-to/train.md", "fine-tuning", rows, columns)


def texts(data: Path, num_pairs: int, num_lines: int) -> dict[str, tuple[Pairs, Pairs]]:
    """For each name the pairs to learn from and those of the test."""
    captions = list(zip(*(read_lines(data / f"multi30k/train.{side}.xz") for side in ("fr", "en")), strict=True))
    law = read(data / "fr-en/europarl-dev")
    return {
        "captions": (every(captions, num_pairs), every(read(data / "multi30k/test_2016_flickr"), num_lines)),
        "law": (law[: num_pairs // 2], every(law[1000:], num_lines)),
        "glossary": (sentences(LEARNT), sentences(ASKED)),
    }


def sentences(forms: str) -> Pairs:
    """Each word in each sentence."""
    terms = [line.split(" = ") for line in TERMS.strip().replace("; ", "\n").splitlines()]
    pairs = product((line.split(" = ") for line in forms.strip().splitlines()), terms)
    return [(form[0].format(term[0]), form[1].format(term[1])) for form, term in pairs]


def read(stem: Path) -> Pairs:
    return list(zip(*(read_lines(f"{stem}.{side}") for side in ("fr", "en")), strict=True))


def every(pairs: Pairs, count: int) -> Pairs:
    """So many of them, evenly spaced."""
    return pairs[:: max(1, len(pairs) // count)][:count]


def write(path: Path, pairs: Pairs) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


def train(name: str, pairs: Path, keep: Path, runs: Path) -> Path:
    run = runs / name
    if not (run / "result.json").exists():
        begin = ["--init", PARENT, "--pairs", str(pairs), "--keep", str(keep), "--threads", "1"]
        more = ["--resume"] if (run / "run.json").exists() else begin
        told = runs / f"{name}.log"
        print(f"{name}: its log is {told}", flush=True)
        with told.open("a") as log:
            command = [sys.executable, "-m", "regard", "train", "--output", str(run), *more]
            subprocess.run(command, check=True, stderr=log)
    return run


def score(model: Any, pairs: Pairs) -> float:
    sources, references = zip(*pairs, strict=True)
    return round(evaluate(model.translate(list(sources), split=False), references).bleu, 2)


if __name__ == "__main__":
    main()
