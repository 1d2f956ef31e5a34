"""Compression loses nothing, is as short as the bits say, and refuses what is damaged."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_use import CONFIGS, TEXT, made
from wordmint.errors import UserError
from wordmint.evaluation.evaluate import Reading, evaluate
from wordmint.evaluation.text import read_text
from wordmint.text.documents import Document
from wordmint.use.coder import Decoder, Encoder, frequencies
from wordmint.use.compression import compress, decompress
from wordmint.use.model import Model


@pytest.fixture(params=CONFIGS)
def lm(request: pytest.FixtureRequest) -> Model:
    return made(CONFIGS[request.param])


ODD_BYTES = [
    b"",
    b" ",
    b"abc",
    b"abc de abc\n",
    TEXT.encode(),
    b"a\r\nb\r\n\r\n\ta  b \x00\xff\xfe\xf0\x9f\x98\x80 <unk> <unk>",
    "é <unk> ü\u2028 \ufffd\ufffd\ud7ff".encode(),
    b"\xed\xa0\x80 caf\xe9",
    bytes(range(256)),
    b"abc" * 200,
]


@pytest.mark.parametrize("data", ODD_BYTES, ids=range(len(ODD_BYTES)))
def test_compression_loses_nothing(lm: Model, data: bytes) -> None:
    assert decompress(lm.language_model, compress(lm.language_model, data)) == data


@settings(max_examples=25, deadline=None)
@given(st.binary(max_size=60))
def test_compression_loses_nothing_of_any_bytes(data: bytes) -> None:
    model = made(CONFIGS["cache"]).language_model
    assert decompress(model, compress(model, data)) == data


def test_a_compressed_text_is_as_long_as_evaluate_says(lm: Model) -> None:
    text = "abc de abc fa\nab . cab abc abc de xyz\n" * 20
    said = evaluate(lm.language_model, read_text([Document("t", (text,))], lm.language_model), Reading(exact=True)).bits
    assert 8 * len(compress(lm.language_model, text.encode())) <= said * 1.001 + 64 * 8


def test_the_number_of_threads_changes_no_byte(lm: Model) -> None:
    threads, packed = torch.get_num_threads(), []
    for number in (1, 2):
        torch.set_num_threads(number)
        packed.append(compress(lm.language_model, TEXT.encode()))
    torch.set_num_threads(threads)
    assert packed[0] == packed[1]


@pytest.mark.parametrize(
    ("damage", "said"),
    [("cut", "damaged"), ("flipped", "damaged"), ("other", "not compressed"), ("newer", "version"), ("model", "model")],
)
def test_a_damaged_compressed_file_is_refused(damage: str, said: str) -> None:
    model = made(CONFIGS["cache"]).language_model
    packed = bytearray(compress(model, TEXT.encode()))
    match damage:
        case "cut":
            del packed[-3:]
        case "flipped":
            packed[-3] ^= 4
        case "other":
            packed = bytearray(b"PK" + packed)
        case "newer":
            packed[5] += 1
        case "model":
            model = made(CONFIGS["cache"], seed=1).language_model
    with pytest.raises(UserError, match=said):
        decompress(model, bytes(packed), "x.wmint")


def test_every_flipped_bit_is_seen() -> None:
    model = made(CONFIGS["cache"]).language_model
    packed = compress(model, b"abc de abc")
    for bit in range(8 * len(packed)):
        spoiled = bytearray(packed)
        spoiled[bit // 8] ^= 1 << bit % 8
        with pytest.raises(UserError):
            decompress(model, bytes(spoiled))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(2, 60), st.floats(0.01, 40), st.integers(0, 10**6)), max_size=60))
def test_the_coder_gives_back_what_it_took(choices: list[tuple[int, float, int]]) -> None:
    sums, chosen, encoder, bits = [], [], Encoder(), 0.0
    for number, sharp, seed in choices:
        logits = np.random.default_rng(seed).normal(size=number) * sharp
        p = np.exp(logits - np.logaddexp.reduce(logits))
        sums.append(frequencies(p))
        chosen.append(seed % number)
        encoder.encode(int(sums[-1][chosen[-1]]), int(sums[-1][chosen[-1] + 1]))
        bits -= math.log2(max(p[chosen[-1]], 2.0**-40))
    data = encoder.finish()
    decoder = Decoder(data)
    assert [decoder.decode(one) for one in sums] == chosen
    assert 8 * len(data) <= bits * 1.0001 + 24
