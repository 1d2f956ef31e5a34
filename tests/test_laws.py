"""The laws that every model obeys: freshly made, and again after it was saved and loaded; on a GPU where there is one.

Two laws stand elsewhere: that a resumed run is the same run, in test_training.py and test_cli_train.py; and the length
of a compressed text, which will come with the coder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.models import ALPHABET_SIZE, CONFIGS, MadeText, laid_out, made_model, made_text, scores_of
from wordmint.evaluation.score import TextScores, score_text
from wordmint.model.char_lstm import CharLSTM
from wordmint.model.language_model import LanguageModel, Network, TextRules
from wordmint.model.packing import Spellings
from wordmint.model.window import AnyWindow, Profile, Window, fitting_profile, to_device
from wordmint.text.alphabet import END_OF_WORD_ID, NUM_SPECIAL, Alphabet

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
RTOL = {torch.float64: 1e-9, torch.float32: 1e-5}
BFLOAT16_SHARE = 0.003  # of the bits of a text, the most that bf16 may change


@pytest.fixture(params=CONFIGS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


@pytest.fixture(params=["made", "saved and loaded"])
def model(name: str, request: pytest.FixtureRequest, device: torch.device, tmp_path: Path) -> Network:
    made = made_model(CONFIGS[name], seed=11)
    if request.param == "made":
        return made.to(device)
    return saved_and_loaded(made, tmp_path).double().to(device)


def saved_and_loaded(network: Network, folder: Path) -> Network:
    """As a user would: through a model's folder, which holds single precision, so the weights are rounded first."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter.float())
    letters = tuple("abcdefghijkl"[: ALPHABET_SIZE - NUM_SPECIAL])
    whole = LanguageModel.of(network.config, Alphabet(letters), TextRules(), ["a"], {})
    whole.network.load_state_dict(network.state_dict())
    whole.save_pretrained(folder)
    loaded = LanguageModel.load(folder)
    assert loaded.alphabet == whole.alphabet
    for mine, theirs in zip(network.parameters(), loaded.network.parameters(), strict=True):
        assert torch.equal(mine, theirs.double())
    return loaded.network


def assert_same(one: TextScores, other: TextScores, rtol: float = 1e-9) -> None:
    for field, mine, theirs in zip(TextScores._fields, one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol, err_msg=field)


# ---- probabilities sum to one ------------------------------------------------------------------------------------

LONGEST = 3


def every_word_and_prefix() -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """All finished words of up to 3 characters, and all beginnings of 4: one of each begins every text."""
    others = [id_ for id_ in range(ALPHABET_SIZE) if id_ != END_OF_WORD_ID]
    finished = [(*word, END_OF_WORD_ID) for length in range(LONGEST + 1) for word in product(others, repeat=length)]
    open_ = [tuple(prefix) for prefix in product(others, repeat=LONGEST + 1)]
    return finished, open_


def spelled(types: list[tuple[int, ...]]) -> Spellings:
    ids = np.array([character for one in types for character in one], dtype=np.int32)
    return Spellings(ids, np.concatenate([[0], np.cumsum([len(one) for one in types])]))


@pytest.mark.parametrize("num_words", [0, 3, 9], ids=["empty", "partial", "full"])
def test_all_words_and_open_prefixes_sum_to_one(model: Network, num_words: int) -> None:
    finished, prefixes = every_word_and_prefix()
    spellings = spelled([*finished, *prefixes])
    random = np.random.default_rng(num_words)
    before = random.choice(len(finished), num_words, replace=False).astype(np.int32)
    before[5:] = before[:5][: len(before[5:])]  # some come again
    total, num_types = 0.0, len(finished) + len(prefixes)
    for first in range(0, num_types, 1024):
        candidates = np.arange(first, min(first + 1024, num_types), dtype=np.int32)
        text = np.concatenate([np.append(before, candidate) for candidate in candidates])
        scores = score_text(model, text, spellings, 0, num_streams=len(candidates))
        total += np.exp(scores.log_p.reshape(len(candidates), -1)[:, -1]).sum()
    assert total == pytest.approx(1, abs=1e-9)


def test_a_prefix_is_as_probable_as_all_words_that_begin_with_it(model: Network) -> None:
    """p(prefix) = λ p_spell(prefix) + (1 − λ) Σ p_copy(words that begin with it): what the next character needs."""
    finished, prefixes = every_word_and_prefix()
    types = [*finished, *prefixes]
    before = np.array([7, 80, 13, 80, 500], dtype=np.int32)
    candidates = np.arange(len(types), dtype=np.int32)
    text = np.concatenate([np.append(before, candidate) for candidate in candidates])
    scores = score_text(model, text, spelled(types), 0, num_streams=len(candidates))
    at_end = TextScores(*(part.reshape(len(candidates), -1)[:, -1] for part in scores))
    p, gate = np.exp(at_end.log_p), np.exp(at_end.log_gate)
    for prefix in [(2,), (2, 0), (0, 3, 2)]:
        begins = np.array([one[: len(prefix)] == prefix for one in types])
        open_ = types.index((*prefix, END_OF_WORD_ID))
        (alone,) = score_prefix(model, before, prefix)
        copied = np.exp(at_end.log_p_copy)[begins].sum()
        assert p[begins].sum() == pytest.approx(gate[open_] * np.exp(alone) + (1 - gate[open_]) * copied, rel=1e-9)


def score_prefix(model: Network, before: np.ndarray, prefix: tuple[int, ...]) -> Iterator[float]:
    """Log p_spell of an open prefix: a word without its end."""
    finished, _ = every_word_and_prefix()
    spellings = spelled([*finished, prefix])
    text = np.append(before, np.int32(len(finished)))
    yield float(score_text(model, text, spellings, 0).log_p_spell[-1])


# ---- no look ahead -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("changed", [0, 1, 17, 39])
def test_no_word_is_known_before_it_is_read(model: Network, changed: int) -> None:
    text = made_text(40, seed=1)
    words = text.words.copy()
    words[changed] = (words[changed] + 5) % 12
    one, other = scores_of(model, text), scores_of(model, replace(text, words=words))
    assert_same(TextScores(*(part[:changed] for part in one)), TextScores(*(part[:changed] for part in other)), 1e-12)
    assert one.log_gate[changed] == pytest.approx(other.log_gate[changed], rel=1e-12)
    if changed < 39:
        assert one.log_p[changed + 1] != other.log_p[changed + 1], "the word left no trace"


# ---- however it is read, a text has one score --------------------------------------------------------------------


def read_in_windows(model: Network, text: MadeText, words_per_window: int, streams: int = 1) -> np.ndarray:
    state, parts = model.start(streams), []
    device = next(model.parameters()).device
    with torch.inference_mode():
        for window in laid_out(model, text, streams, words_per_window):
            scores, state = model(to_device(window, device), state)
            parts.append(scores.log_p.cpu().numpy())
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("words_per_window", [1, 3, 50])
def test_windows_of_any_length_score_alike(model: Network, words_per_window: int) -> None:
    text = made_text(50, seed=2)
    log_p = read_in_windows(model, text, words_per_window)[0, :50]
    np.testing.assert_allclose(log_p, read_in_windows(model, text, 7)[0, :50], rtol=1e-9)


def test_streams_side_by_side_score_as_they_do_alone(model: Network) -> None:
    text = made_text(53, seed=3)  # 53 words in 4 streams: 14, 13, 13, 13, so some end inside the last window
    batched = read_in_windows(model, text, 5, streams=4)
    for stream, words in enumerate(np.array_split(text.words, 4)):
        alone = read_in_windows(model, replace(text, words=words), 5)[0]
        np.testing.assert_allclose(batched[stream, : len(words)], alone[: len(words)], rtol=1e-9)
        np.testing.assert_array_equal(batched[stream, len(words) :], 0)


def profile_of(model: Network, text: MadeText) -> Profile | None:
    """Lengths that all windows of the text fit in, so that most of them are lent more places than they need."""
    if isinstance(model, CharLSTM) and next(model.parameters()).is_cuda:
        return None  # cuDNN knows nothing of states in between
    return fitting_profile(list(laid_out(model, text, 2)), share=1.0)


def num_places(window: AnyWindow) -> int:
    return len(window.spelling.targets if isinstance(window, Window) else window.sequence.targets)


def test_places_lent_by_a_profile_change_nothing(model: Network) -> None:
    text, device, num_lent = made_text(70, seed=4), next(model.parameters()).device, 0
    state, also_state = model.start(2), model.start(2)
    for plain, lent in zip(
        laid_out(model, text, 2), laid_out(model, text, 2, profile=profile_of(model, text)), strict=True
    ):
        one, state = model(to_device(plain, device), state)
        other, also_state = model(to_device(lent, device), also_state)
        num_lent += num_places(lent) - num_places(plain)
        for mine, theirs in zip(
            (*one, *state.tensors().values()), (*other, *also_state.tensors().values()), strict=True
        ):
            torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12)
    assert num_lent > 0 or device.type == "cuda", "nothing was lent: nothing is tested"


def test_lent_places_leave_no_trace_in_the_gradients(model: Network) -> None:
    text, device = made_text(70, seed=4), next(model.parameters()).device
    gradients = []
    model.train()  # cuDNN has no other way back; there is no dropout
    for profile in (None, profile_of(model, text)):
        model.zero_grad()
        for window in laid_out(model, text, 2, profile=profile):
            model(to_device(window, device), model.start(2))[0].log_p.sum().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-9, atol=1e-12)


def test_one_word_and_no_word_more(model: Network) -> None:
    text = made_text(1, seed=5)
    assert scores_of(model, text).log_p.shape == (1,)
    assert np.isfinite(scores_of(model, text).log_p).all()


def test_bfloat16_stays_within_its_bound(name: str, device: torch.device) -> None:
    model, text = made_model(CONFIGS[name], 6).float().to(device), made_text(400, seed=6)
    exact = scores_of(model, text).log_p.sum()
    with torch.autocast(device.type, torch.bfloat16):
        rounded = scores_of(model, text).log_p.sum()
    assert rounded == pytest.approx(exact, rel=BFLOAT16_SHARE)
    assert rounded != exact, "nothing was rounded: nothing is tested"
