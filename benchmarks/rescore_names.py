"""Does carrying the cache from utterance to utterance help to hear names that recur? On lists made from real text.

    python benchmarks/rescore_names.py MODEL FOLDER [--seed 1]

Each line of the folder's documents that has a rare name (a capitalised word that the model's training text lacks) is an
utterance. Its hypotheses are the line itself and lines in which words were misheard: names as words one or two letters
away, other words as words of the same text. Scores are noisy, so that the first guess is often wrong. Half of the
documents tune alpha and beta, the other half counts: word errors of the first guesses, and rescored without the cache
(0 slots), with a cache that begins anew with every utterance, and with one that is carried. Prints a table, then JSON.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from pathlib import Path

from wordmint.text.documents import find_documents
from wordmint.use import rescoring
from wordmint.use.model import Model
from wordmint.use.nbest import Hypothesis, Utterance

HYPOTHESES, LETTERS = 10, "abcdefghijklmnopqrstuvwxyz"
LONGEST, NOISE = 30, 4.0


def misspelled(word: str, chance: random.Random) -> str:
    """One or two letters away."""
    for _ in range(chance.choice((1, 1, 2))):
        place = chance.randrange(len(word))
        letter = chance.choice(LETTERS)
        match chance.randrange(3):
            case 0:
                word = word[:place] + letter + word[place + 1 :]
            case 1:
                word = word[:place] + letter + word[place:]
            case _:
                word = (word[:place] + word[place + 1 :]) or word
    return word


def utterances(lm: Model, folder: Path, seed: int) -> list[list[Utterance]]:
    """Of each document."""
    chance, result = random.Random(seed), list[list[Utterance]]()
    for document in find_documents(folder):
        lines = [line.split()[:LONGEST] for line in re.split(r"(?<=[.!?])\s+|\n", document.text) if line.strip()]
        vocabulary = sorted({word for line in lines for word in line})
        known = dict(zip(vocabulary, lm.language_model.has_seen(vocabulary), strict=True))
        found = []
        for number, line in enumerate(lines):
            names = [place for place, word in enumerate(line) if word[:1].isupper() and not known[word] and place]
            if names:
                found.append(_utterance(f"{document.name}-{number}", line, names, vocabulary, chance))
        result.append(found)
    return result


def _utterance(name: str, line: list[str], names: list[int], vocabulary: list[str], chance: random.Random) -> Utterance:
    heard = {" ".join(line)}
    while len(heard) < HYPOTHESES:
        other = list(line)
        for place in names:
            if chance.random() < 0.6:
                other[place] = misspelled(other[place], chance)
        if chance.random() < 0.3:
            other[chance.randrange(len(other))] = chance.choice(vocabulary)
        heard.add(" ".join(other))
    scored = [Hypothesis(text, chance.gauss(0, NOISE)) for text in sorted(heard)]
    return Utterance(name, tuple(sorted(scored, key=lambda one: -one.score)), " ".join(line))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    lm = Model.load(options.model)
    documents = utterances(lm, options.folder, options.seed)
    tuned_on = [one for document in documents[::2] for one in document]
    counted = [one for document in documents[1::2] for one in document]
    said = {one.name: one.reference or "" for one in [*tuned_on, *counted]}
    rows = [{"what": "first guesses", "word_error_rate": rescoring.word_error_rate(counted, said)}]
    for what, slots, carry in (
        ("no cache", 0, True),
        ("cache, not carried", None, False),
        ("cache, carried", None, True),
    ):
        state, model = lm.start(slots), lm.language_model
        weights, _ = rescoring.tune(model, tuned_on, said, state, carry)
        result = rescoring.rescore(model, counted, state, weights, carry)
        rate = rescoring.word_error_rate(result.utterances, said)
        rows.append({"what": what, "word_error_rate": rate, "alpha": weights.alpha, "beta": weights.beta})
    for row in rows:
        print(
            "  ".join(
                f"{name} {value:.4g}" if isinstance(value, float) else f"{value:20}" for name, value in row.items()
            )
        )
    print(json.dumps({"benchmark": "rescore_names", "utterances": len(counted), "results": rows}))


if __name__ == "__main__":
    main()
