"""The training step as research code usually writes it, beside ours, on the same windows.

    python benchmarks/ordinary.py [--corpus ptb --data DIR] [--units 600] [--precision bfloat16]

*Packed*: eager PyTorch, `nn.LSTM` over packed sequences, every word encoded where it occurs; the cache as ours computes
it. *Loop*: the same, with the cache as the paper tells it, word after word. All three have the same weights and,
without dropout, the same loss (checked before the clock starts). They take turns. Prints a table, then one JSON line.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from wordmint.corpora.catalogue import find_sources
from wordmint.corpora.corpus import LINE_END_ID, Corpus
from wordmint.corpora.prepare import prepare
from wordmint.model.cache_plan import Slots
from wordmint.model.config import Dropout, HCLMConfig
from wordmint.model.hclm import HCLM
from wordmint.model.mixture import mix
from wordmint.model.packing import Spellings
from wordmint.model.state import State
from wordmint.model.window import Reader, Window, lay_out, to_device
from wordmint.text.documents import Encoding
from wordmint.text.streams import windows
from wordmint.training.config import TrainingConfig
from wordmint.training.epoch import Epoch
from wordmint.training.loop import make_step

WARM_UP = 6
Recurrent = tuple[Tensor, Tensor]


class Ordinary:
    """HCLM with cache over padded tensors; shares the weights of ours."""

    def __init__(self, network: HCLM, corpus: Corpus, streams: int, loops: bool) -> None:
        self.network, self.corpus, self.loops = network, corpus, loops
        self.device = next(network.parameters()).device
        self.optimizer = torch.optim.Adam(network.parameters(), lr=0.002)
        zeros = torch.zeros(1, streams, network.config.units, device=self.device)
        self.recurrent: Recurrent = (zeros, zeros)
        slots = network.config.slots
        self.caches = [Slots(slots) for _ in range(streams)]
        self.keys = torch.zeros(streams, slots, network.config.units, device=self.device)

    def step(self, words: Tensor, before: Tensor, window: Window) -> float:
        """Learn one window; returns its loss."""
        nats = self.nats(words, before, window)
        (nats / words.numel()).backward()
        clip_grad_norm_(self.network.parameters(), 10.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(nats.detach())

    def nats(self, words: Tensor, before: Tensor, window: Window) -> Tensor:
        network, shape = self.network, words.shape
        characters, lengths = self.spelled(before.flatten())
        _, (encoded, _) = network.encoder.lstm(self.packed(characters, lengths))
        h, (hidden, cell) = network.context.lstm(encoded[-1].view(*shape, -1).transpose(0, 1), self.recurrent)
        h = h.transpose(0, 1)
        self.recurrent = hidden.detach(), cell.detach()
        log_p_spell = self.spell(words.flatten(), h.flatten(0, 1)).view(shape)
        assert network.cache is not None and network.gate is not None and window.plan is not None
        if self.loops:
            log_p_copy, is_empty = self.copy_in_a_loop(words, h)
        else:
            copying = network.cache(h, self.keys, window.plan)
            log_p_copy, is_empty, self.keys = copying.log_p_copy, copying.is_empty, copying.keys.detach()
        return -mix(log_p_spell, log_p_copy, network.gate(h), is_empty).log_p.sum()

    def spelled(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """Padded spellings and their lengths."""
        starts, ids = self.corpus.spelling_starts, self.corpus.spellings
        parts = [torch.from_numpy(ids[starts[w] : starts[w + 1]].astype("int64")) for w in words.tolist()]
        padded = torch.nn.utils.rnn.pad_sequence(parts, batch_first=True)
        return padded.to(self.device), torch.tensor([len(part) for part in parts])

    def packed(self, characters: Tensor, lengths: Tensor):
        vectors = self.network.characters(characters)
        return pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)

    def spell(self, words: Tensor, h: Tensor) -> Tensor:
        network = self.network
        characters, lengths = self.spelled(words)
        start = torch.full_like(characters[:, :1], network.alphabet_size)
        packed = self.packed(torch.cat([start, characters[:, :-1]], 1), lengths)
        outputs, _ = network.decoder.lstm(packed, (h[None].contiguous(), torch.zeros_like(h)[None]))
        padded, _ = pad_packed_sequence(outputs, batch_first=True)
        logits = network.decoder.softmax(padded).float()
        nats = cross_entropy(logits.flatten(0, 1), characters.flatten(), reduction="none").view(characters.shape)
        is_character = torch.arange(characters.shape[1]) < lengths[:, None]
        return -(nats * is_character.to(self.device)).sum(1)

    def copy_in_a_loop(self, words: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """Word after word, stream after stream: look at the keys there are, then write."""
        cache = self.network.cache
        assert cache is not None
        log_p, empty = [], []
        keys = [list(stream.unbind(0)) for stream in self.keys]
        for stream, row in enumerate(words.tolist()):
            slots = self.caches[stream]
            for time_, word in enumerate(row):
                used = len(slots.slot_of)
                empty.append(used == 0)
                known = slots.slot_of.get(word)
                if used and known is not None:
                    query = torch.tanh(cache.query(h[stream, time_]))
                    scores = torch.tanh(cache.key(torch.stack(keys[stream][:used])) + query) @ cache.score
                    log_p.append(scores[known] - scores.logsumexp(0))
                else:
                    log_p.append(h.new_full((), -torch.inf))
                slot, is_hit = slots.use(word)
                new = h[stream, time_]
                keys[stream][slot] = (keys[stream][slot] + new) / 2 if is_hit else new
        self.keys = torch.stack([torch.stack(stream) for stream in keys]).detach()
        return torch.stack(log_p).view(words.shape), torch.tensor(empty, device=self.device).view(words.shape)


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", default="demo")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--units", type=int, default=600)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--precision", default="float32")
    options = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    corpus = prepare(find_sources(options.corpus, options.data, Encoding())[0])
    config = TrainingConfig(precision=options.precision)
    model = HCLMConfig(units=options.units, dropout=Dropout(0.0, 0.0, 0.0, 0.0, 0.0))
    networks = [_network(model, corpus, device) for _ in range(3)]
    step, state = make_step(networks[0], config), networks[0].start(config.streams)
    ordinary = {
        name: Ordinary(network, corpus, config.streams, loops)
        for (name, loops), network in zip((("packed", False), ("loop", True)), networks[1:], strict=True)
    }
    rows = _rows(corpus, model, config, device, WARM_UP + options.steps)
    ours = list(islice(Epoch(corpus, model, config, device).windows(), len(rows)))
    _check(networks[0], ours[0], state, ordinary, rows[0], device)
    times: dict[str, list[float]] = {"ours": [], **{name: [] for name in ordinary}}
    for number, ((words, before, window), mine) in enumerate(zip(rows, ours, strict=True)):
        for name in times:
            if name == "loop" and number % 3:  # it is that slow
                continue
            wait()
            begun = time.perf_counter()
            if name == "ours":
                state = step(mine, state)
            else:
                ordinary[name].step(words, before, window)
            wait()
            if number >= WARM_UP:
                times[name].append((time.perf_counter() - begun) * 1e3)
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, value in medians.items():
        print(f"{name:8} {value:10.2f} ms  {value / medians['ours']:6.1f} times ours")
    results = {
        "step_milliseconds": medians,
        "times_ours": {n: round(v / medians["ours"], 2) for n, v in medians.items()},
    }
    print(json.dumps({"benchmark": "ordinary", "device": str(device), "corpus": corpus.name, **results}))


def _network(model: HCLMConfig, corpus: Corpus, device: torch.device) -> HCLM:
    torch.manual_seed(1)
    return HCLM(model, len(corpus.alphabet)).to(device).train()


def _rows(
    corpus: Corpus, model: HCLMConfig, config: TrainingConfig, device: torch.device, number: int
) -> list[tuple[Tensor, Tensor, Window]]:
    """Words, the words before them, and our window (for its plan) of an epoch's beginning."""
    text, spellings = corpus.splits["train"].words, Spellings(corpus.spellings, corpus.spelling_starts)
    reader, rows = Reader(config.streams, model.slots, LINE_END_ID), []
    last = torch.full((config.streams, 1), LINE_END_ID)
    cut = list(islice(windows(text, config.streams, config.words_per_window), number))
    for plain, window in zip(cut, lay_out(model, cut, spellings, len(corpus.alphabet), reader), strict=True):
        assert isinstance(window, Window)
        words = torch.from_numpy(plain.words).long()
        rows.append((words, torch.cat([last, words[:, :-1]], 1), to_device(window, device)))
        last = words[:, -1:]
    return rows


def _check(
    network: HCLM, window: object, state: State, ordinary: dict[str, Ordinary], row: tuple, device: torch.device
) -> None:
    """All three compute the same loss."""
    assert isinstance(window, Window)
    with torch.no_grad():
        expected = float(-network(window, state)[0].log_p.sum())
        for name, one in ordinary.items():
            keys, recurrent = one.keys, one.recurrent
            mine = float(one.nats(*row))
            assert abs(mine / expected - 1) < 1e-3, f"{name} computes {mine}, ours {expected} ({device})"
            one.keys, one.recurrent = keys, recurrent
            one.caches = [Slots(network.config.slots) for _ in one.caches]


if __name__ == "__main__":
    main()
