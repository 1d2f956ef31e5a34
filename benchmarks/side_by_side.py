"""Wordmint, a character-level GPT of equal size through `transformers`, and kenlm, on one file.

    pip install transformers kenlm
    python benchmarks/side_by_side.py MODEL [--seconds 180]

MODEL was trained on the demo's corpus; the GPT is trained here on the same text for the given time (AdamW, cosine,
dropout 0.1, the setting its users begin with), and kenlm gets a trigram with Witten-Bell smoothing made here. All read
the demo's test text in one stream. kenlm's words are closed: each word it lacks also pays for its characters by their
frequencies. Prints a table, then one JSON line.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import torch

from wordmint.corpora.catalogue import find_sources
from wordmint.text.documents import Encoding
from wordmint.text.words import LINE_END, join, word_lines
from wordmint.use.model import Model

CONTEXT, LAYERS, HEADS = 256, 4, 4


def words_of(documents: Any) -> list[str]:
    return [word for document in documents for line in word_lines(document.pieces) for word in line]


# ---- a character-level GPT ----------------------------------------------------------------------------------------


def trained_gpt(text: str, alphabet: list[str], parameters: int, seconds: float) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel  # pyright: ignore[reportMissingImports]

    units = HEADS * round(math.sqrt(parameters / (12 * LAYERS)) / HEADS)
    config = GPT2Config(
        vocab_size=len(alphabet) + 1, n_positions=CONTEXT, n_embd=units, n_layer=LAYERS, n_head=HEADS,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    torch.manual_seed(1)
    model = GPT2LMHeadModel(config).train()
    ids = torch.tensor([alphabet.index(character) + 1 for character in text])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    begun = time.monotonic()
    while (done := (time.monotonic() - begun) / seconds) < 1:
        starts = torch.randint(len(ids) - CONTEXT, (8,))
        batch = torch.stack([ids[start : start + CONTEXT] for start in starts.tolist()])
        for group in optimizer.param_groups:
            group["lr"] = 1e-3 * min(1.0, done * 50) * 0.5 * (1 + math.cos(math.pi * done))
        model(batch, labels=batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


@torch.inference_mode()
def gpt_bits(model: Any, text: str, alphabet: list[str]) -> float:
    """Each character with at least half a context before it."""
    known = {character: number for number, character in enumerate(alphabet, start=1)}
    ids, bits = torch.tensor([known[LINE_END], *(known.get(character, 0) for character in text)]), 0.0
    for begin in range(1, len(ids), CONTEXT // 2):
        first = max(0, begin - CONTEXT // 2)
        part = ids[first : min(begin + CONTEXT // 2, len(ids))]
        log_p = model(part[None, :-1]).logits[0].log_softmax(-1)
        scored = log_p.gather(1, part[1:, None])[begin - first - 1 :]
        bits -= float(scored.sum()) / math.log(2)
    return bits


# ---- kenlm --------------------------------------------------------------------------------------------------------


def arpa(words: list[str]) -> str:
    """A trigram model with Witten-Bell smoothing, interpolated, lines as sentences."""
    counts: list[Counter[tuple[str, ...]]] = [Counter(), Counter(), Counter()]
    line: list[str] = ["<s>"]
    for word in words:
        line.append("</s>" if word == LINE_END else word)
        if word == LINE_END:
            for order in range(3):
                counts[order].update(zip(*(line[n:] for n in range(order + 1)), strict=False))
            line = ["<s>"]
    del counts[0][("<s>",)]
    total, types = sum(counts[0].values()), len(counts[0])
    p = {gram: (n + types / (types + 1)) / (total + types) for gram, n in counts[0].items()}
    unknown = types / (types + 1) / (total + types)
    rows = [[f"{math.log10(unknown)}\t<unk>\t0", "-99\t<s>\t{<s>}"], [], []]
    left: dict[tuple[str, ...], float] = {}
    for order in (1, 2):
        followers, sums = Counter(gram[:-1] for gram in counts[order]), defaultdict(int)
        for gram, n in counts[order].items():
            sums[gram[:-1]] += n
        left |= {context: followers[context] / (followers[context] + sums[context]) for context in followers}
        for gram, n in counts[order].items():
            context = gram[:-1]
            p[gram] = n / (followers[context] + sums[context]) + left[context] * p[gram[1:]]
    for gram, value in p.items():
        back = f"\t{math.log10(left.get(gram, 1.0)):.6f}" if len(gram) < 3 else ""
        rows[len(gram) - 1].append(f"{math.log10(value):.6f}\t{' '.join(gram)}{back}")
    rows[0][1] = f"-99\t<s>\t{math.log10(left[('<s>',)]):.6f}"
    head = "".join(f"ngram {order + 1}={len(some)}\n" for order, some in enumerate(rows))
    body = "".join(f"\\{order + 1}-grams:\n" + "\n".join(some) + "\n\n" for order, some in enumerate(rows))
    return f"\\data\\\n{head}\n{body}\\end\\\n"


def kenlm_bits(model: Any, words: list[str], spelled: dict[str, float]) -> float:
    bits, line = 0.0, list[str]()
    for word in words:
        if word != LINE_END:
            line.append(word)
            continue
        for score, _, _ in model.full_scores(" ".join(line)):
            bits -= score * math.log2(10)
        bits += sum(sum(spelled.get(c, 20.0) for c in [*one, " "]) for one in line if one not in model)
        line = []
    return bits


def timed(work: Any) -> tuple[float, float]:
    begun = time.perf_counter()
    return work(), time.perf_counter() - begun


def main() -> None:
    import kenlm  # pyright: ignore[reportMissingImports]

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=180)
    options = parser.parse_args()
    (source,) = find_sources("demo", None, Encoding())
    train, test = words_of(source.splits["train"]), words_of(source.splits["test"])
    train_text, text = join(train), join(test)
    num_bytes = len(text.encode())
    lm = Model.load(options.model)
    parameters = sum(one.numel() for one in lm.language_model.network.parameters())
    rows = []

    def add(name: str, size: int, result: tuple[float, float]) -> None:
        bits, seconds = result
        row = {"model": name, "parameters": size, "words_per_second": round(len(test) / seconds)}
        rows.append(row | {"bits_per_byte": round(bits / num_bytes, 4)})
        print(f"{name:34} {size:>9,}  {row['words_per_second']:>9,} words/s  {bits / num_bytes:.4f} bits/byte")

    add("wordmint", parameters, timed(lambda: lm.score(text).bits))
    rough = Model.load(options.model, int8=True)
    add("wordmint, int8", parameters, timed(lambda: rough.score(text).bits))
    known = set(lm.language_model.alphabet.characters) | {" "}
    alphabet = sorted({character for character in train_text if character in known})
    kept = "".join(character if character in known else " " for character in train_text)
    gpt = trained_gpt(kept, alphabet, parameters, options.seconds)
    size = sum(one.numel() for one in gpt.parameters())
    add(f"GPT, {options.seconds:.0f} s of training", size, timed(lambda: gpt_bits(gpt, text, alphabet)))
    counts = Counter(train_text)
    spelled = {character: -math.log2(n / len(train_text)) for character, n in counts.items()}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "m.arpa").write_text(arpa(train))
        model = kenlm.Model(str(Path(folder, "m.arpa")))
        add("kenlm, trigram, unknown spelled", 0, timed(lambda: kenlm_bits(model, test, spelled)))
    print(
        json.dumps({"benchmark": "side_by_side", "device": f"cpu, {torch.get_num_threads()} threads", "results": rows})
    )


if __name__ == "__main__":
    main()
