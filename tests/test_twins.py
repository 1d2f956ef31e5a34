"""The fast models against the paper's equations in plain loops, a word at a time, in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.models import CONFIGS, MadeText, made_model, made_text, scores_of, trained_model, twin_scores
from wordmint.model.config import HCLMConfig
from wordmint.model.language_model import Network, build

EXACT = 1e-9  # in float64 the two differ by rounding alone
SINGLE = 1e-5


def assert_like_the_twin(model: Network, text: MadeText, rtol: float, num_slots: int | None = None) -> None:
    expected = np.array(twin_scores(model, text, num_slots)).T
    for name, fast, slow in zip(
        scores_of(model, text)._fields, scores_of(model, text, slots=num_slots), expected, strict=True
    ):
        np.testing.assert_allclose(fast, slow, rtol=rtol, atol=rtol * 1e-3, err_msg=name)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_weights(name: str, seed: int) -> None:
    assert_like_the_twin(made_model(CONFIGS[name], seed), made_text(60, seed=seed), EXACT)


@pytest.mark.parametrize("name", CONFIGS)
def test_single_precision(name: str) -> None:
    assert_like_the_twin(made_model(CONFIGS[name], 3).float(), made_text(60, seed=3), SINGLE)


@pytest.mark.parametrize("name", CONFIGS)
def test_trained_weights(name: str) -> None:
    text = made_text(300, seed=4)
    model = trained_model(CONFIGS[name], text)
    bits_before = -scores_of(made_model(CONFIGS[name], 4, reach=0.08), text).log_p.sum()
    assert -scores_of(model, text).log_p.sum() < 0.9 * bits_before, "nothing was learnt, so nothing is tested"
    assert_like_the_twin(model, text, SINGLE)


@pytest.mark.parametrize("num_slots", [0, 1, 3, 12, 40, 10_000])
def test_a_cache_of_another_size_than_in_training(num_slots: int) -> None:
    model, text = made_model(CONFIGS["hclm-cache"], 5), made_text(50, num_types=30, seed=5)
    assert_like_the_twin(model, text, EXACT, num_slots)


def test_without_slots_every_word_is_spelled() -> None:
    model, text = made_model(CONFIGS["hclm-cache"], 6), made_text(50, seed=6)
    scores = scores_of(model, text, slots=0)
    np.testing.assert_array_equal(scores.log_p, scores.log_p_spell)
    np.testing.assert_array_equal(scores.p_copied, 0)


def test_the_posterior_is_bayes_rule() -> None:
    model, text = made_model(CONFIGS["hclm-cache"], 7), made_text(80, seed=7)
    expected = [
        (1 - np.exp(one.log_gate)) * np.exp(one.log_p_copy) / np.exp(one.log_p) for one in twin_scores(model, text)
    ]
    np.testing.assert_allclose(scores_of(model, text).p_copied, expected, rtol=1e-7, atol=1e-12)
    assert max(expected) > 0.1


def test_the_gate_hears_the_context() -> None:
    model, text = made_model(CONFIGS["hclm-cache"], 8, reach=1.5), made_text(40, seed=8)
    assert np.ptp(scores_of(model, text).log_gate[1:]) > 0.01


def test_initial_parameters_are_uniform() -> None:
    torch.manual_seed(0)
    model = build(HCLMConfig(units=40), 30)
    values = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    assert 0.0799 < values.max() <= 0.08
    assert -0.08 <= values.min() < -0.0799
    assert abs(float(values.std()) - 0.16 / 12**0.5) < 0.001
