"""A character-level GPT as a peer: 6 layers × 384, about as many parameters as HCLM with cache, customary settings.

    python benchmarks/gpt.py --corpus ptb --data DIR --seconds 300 --out gpt.jsonl

Pre-norm blocks, learnt positions, GELU, `scaled_dot_product_attention`, context 256, batch 64, AdamW 1e-3 with warm-up
and a cosine to a tenth, bf16, `torch.compile`; the text is the same normalised text. Writes a line each time dev is
evaluated: seconds since the start (compiling included) and bits. Each dev character is predicted once, with at least
half the context before it.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, gelu, scaled_dot_product_attention

from wordmint.corpora.catalogue import find_sources
from wordmint.corpora.prepare import prepare
from wordmint.evaluation.baselines.text import characters
from wordmint.text.documents import Encoding


@dataclass(frozen=True)
class GPTConfig:
    """The customary small one."""

    layers: int = 6
    units: int = 384
    heads: int = 6
    context: int = 256
    dropout: float = 0.2


class Block(nn.Module):
    """Attention and a multi-layer perceptron, each behind a norm and beside a residual."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config, units = config, config.units
        self.norm_attention, self.norm_mlp = nn.LayerNorm(units), nn.LayerNorm(units)
        self.qkv, self.mix = nn.Linear(units, 3 * units), nn.Linear(units, units)
        self.up, self.down = nn.Linear(units, 4 * units), nn.Linear(4 * units, units)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, units = x.shape
        share = self.config.dropout if self.training else 0.0
        qkv = self.qkv(self.norm_attention(x)).view(batch, length, 3, self.config.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        heard = scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=share)
        x = x + dropout(self.mix(heard.transpose(1, 2).reshape(batch, length, units)), share)
        return x + dropout(self.down(gelu(self.up(self.norm_mlp(x)))), share)


class GPT(nn.Module):
    """Characters in, logits of the next ones out."""

    def __init__(self, config: GPTConfig, alphabet: int) -> None:
        super().__init__()
        self.config = config
        self.characters = nn.Embedding(alphabet, config.units)
        self.positions = nn.Embedding(config.context, config.units)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm, self.out = nn.LayerNorm(config.units), nn.Linear(config.units, alphabet, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        self.out.weight = self.characters.weight

    def forward(self, ids: Tensor) -> Tensor:
        share = self.config.dropout if self.training else 0.0
        x = dropout(self.characters(ids) + self.positions.weight[: ids.shape[1]], share)
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x))


def batches(text: Tensor, config: GPTConfig, size: int, device: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """Random pieces of the text, and the same one character later."""
    random = torch.Generator().manual_seed(1)
    while True:
        starts = torch.randint(len(text) - config.context, (size,), generator=random)
        pieces = torch.stack([text[start : start + config.context + 1] for start in starts.tolist()]).to(device)
        yield pieces[:, :-1], pieces[:, 1:]


@torch.no_grad()
def bits(model: nn.Module, text: Tensor, config: GPTConfig, first: int, device: torch.device) -> float:
    """The cost of a text behind a line end."""
    model.eval()
    whole, stride, total = torch.cat([torch.tensor([first]), text]), config.context // 2, 0.0
    begins = list(range(0, len(text), stride))
    for group in (begins[i : i + 64] for i in range(0, len(begins), 64)):
        starts = [max(0, begin + stride - config.context) for begin in group]
        inputs = torch.zeros(len(group), config.context, dtype=torch.long)
        targets = torch.full((len(group), config.context), -1)
        for row, (start, begin) in enumerate(zip(starts, group, strict=True)):
            end = min(begin + stride, len(text))
            inputs[row, : end - start] = whole[start:end]
            targets[row, begin - start : end - start] = text[begin:end]
        with torch.autocast(device.type, torch.bfloat16):
            logits = model(inputs.to(device))
        nats = cross_entropy(
            logits.float().flatten(0, 1), targets.flatten().to(device), ignore_index=-1, reduction="sum"
        )
        total += float(nats) / math.log(2)
    model.train()
    return total


def rate(share: float, highest: float) -> float:
    """Warm-up over a hundredth of the time, then a cosine to a tenth."""
    warm = min(1.0, share * 100)
    return highest * warm * (0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, share))))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--every", type=float, default=10, help="seconds between evaluations")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--units", type=int, default=384)
    parser.add_argument("--out", type=Path, default=Path("gpt.jsonl"))
    options = parser.parse_args()
    began = time.monotonic()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    corpus = prepare(find_sources(options.corpus, options.data, Encoding())[0])
    train, dev = (
        torch.from_numpy(np.ascontiguousarray(characters(corpus, corpus.splits[name].words))).long()
        for name in ("train", "valid")
    )
    config = GPTConfig(options.layers, options.units, dropout=options.dropout)
    torch.manual_seed(1)
    model = GPT(config, len(corpus.alphabet)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, betas=(0.9, 0.95), weight_decay=0.1)
    learn = torch.compile(model) if device.type == "cuda" else model
    next_evaluation, (first,) = options.every, corpus.alphabet.spell(["\n"])[0][:1].tolist()
    with options.out.open("w", encoding="utf-8") as file:
        for step, (inputs, targets) in enumerate(batches(train, config, options.batch, device), start=1):
            elapsed = time.monotonic() - began
            if elapsed > next_evaluation or elapsed > options.seconds:
                row = {
                    "seconds": round(elapsed, 1),
                    "steps": step - 1,
                    "dev_bits": bits(model, dev, config, first, device),
                }
                row |= {"dev_bpc": row["dev_bits"] / corpus.splits["valid"].num_characters}
                print(json.dumps(row))
                file.write(json.dumps(row) + "\n")
                file.flush()
                next_evaluation += options.every
            if elapsed > options.seconds:
                break
            for group in optimizer.param_groups:
                group["lr"] = rate(elapsed / options.seconds, options.rate)
            with torch.autocast(device.type, torch.bfloat16):
                logits = learn(inputs)
            cross_entropy(logits.float().flatten(0, 1), targets.flatten()).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    print(json.dumps({"benchmark": "gpt", "device": str(device), "corpus": corpus.name, "parameters": parameters}))


if __name__ == "__main__":
    main()
