"""What only a GPU has: the fused attention, and the step as one graph. Each is compared with the ordinary way."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.models import CONFIGS, NO_DROPOUT, laid_out, made_text
from wordmint.model import lstm
from wordmint.model.attention import additive_scores, gradients_in_blocks, scores_in_blocks
from wordmint.model.config import Dropout, HCLMConfig
from wordmint.model.language_model import Network, build
from wordmint.model.lstm import _Steps, _StepsInOneLaunch
from wordmint.model.window import AnyWindow, Window, fitting_profile, to_device
from wordmint.training.config import TrainingConfig
from wordmint.training.graph_step import WARM_UP_STEPS, GraphStep
from wordmint.training.step import Step

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
GPU = torch.device("cuda")
SHAPES = [(1, 1, 1, 1), (2, 5, 3, 7), (3, 35, 135, 600), (2, 17, 33, 65)]  # streams, words, versions, units


@pytest.mark.parametrize("shape", SHAPES)
def test_fused_attention_computes_the_same(shape: tuple[int, ...]) -> None:
    streams, words, versions, units = shape
    torch.manual_seed(0)
    queries, keys = torch.randn(streams, words, units, device=GPU), torch.randn(streams, versions, units, device=GPU)
    score, grad = torch.randn(units, device=GPU), torch.randn(streams, words, versions, device=GPU)
    exact = scores_in_blocks(queries.double(), keys.double(), score.double())
    inputs = [queries.requires_grad_(), keys.requires_grad_(), score.requires_grad_()]
    fused = additive_scores(*inputs)
    torch.testing.assert_close(fused.double(), exact, rtol=1e-4, atol=1e-4)
    expected = gradients_in_blocks(
        queries.detach().double(), keys.detach().double(), score.detach().double(), grad.double()
    )
    for mine, theirs in zip(torch.autograd.grad(fused, inputs, grad), expected, strict=True):
        torch.testing.assert_close(mine.double(), theirs, rtol=1e-3, atol=1e-3)


def test_fused_attention_writes_every_place() -> None:
    """Memory that was NaN before must not shine through."""
    poison = torch.full((64, 1 << 20), torch.nan, device=GPU)
    del poison
    queries, keys = torch.randn(3, 19, 70, device=GPU), torch.randn(3, 21, 70, device=GPU)
    score = torch.randn(70, device=GPU)
    inputs = [part.requires_grad_() for part in (queries, keys, score)]
    scores = additive_scores(*inputs)
    assert torch.isfinite(scores).all()
    assert all(torch.isfinite(part).all() for part in torch.autograd.grad(scores.sum(), inputs))


# ---- the steps of an LSTM in one launch --------------------------------------------------------------------------

PACKED = [(5, 5, 3, 1, 1), (25,) * 35, (1, 1, 1), (150,), (875, 870, 700, 420, 300, 130, 40, 9, 1), (70, 40, 40, 2)]


def lstm_inputs(sizes: tuple[int, ...], units: int, dtype: torch.dtype) -> list[torch.Tensor]:
    """Gates' inputs, recurrent weights, and the states before."""
    torch.manual_seed(sum(sizes))
    shapes = [(sum(sizes), 4 * units), (4 * units, units), (sizes[0], units), (sizes[0], units)]
    scales = [1.0, 0.08, 0.5, 1.0]
    return [
        (torch.randn(shape, device=GPU) * scale).to(dtype).requires_grad_()
        for shape, scale in zip(shapes, scales, strict=True)
    ]


def results_and_gradients(steps: Any, inputs: list[torch.Tensor], sizes: tuple[int, ...]) -> list[torch.Tensor]:
    results = steps(inputs[0] * 1, *inputs[1:], list(sizes))
    torch.manual_seed(1)
    weights = [torch.randn(result.shape, device=GPU) for result in results]
    total = torch.stack(
        [(result.float() * weight).sum() for result, weight in zip(results, weights, strict=True)]
    ).sum()
    return [*results, *torch.autograd.grad(total, inputs)]


@pytest.mark.parametrize("sizes", PACKED, ids=len)
@pytest.mark.parametrize("units", [40, 600])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-3), (torch.bfloat16, 2e-2)], ids=["tf32", "bf16"])
def test_steps_in_one_launch_are_the_written_out_steps(
    sizes: tuple[int, ...], units: int, dtype: torch.dtype, tolerance: float
) -> None:
    inputs = lstm_inputs(sizes, units, dtype)
    exact = [part.detach().double().requires_grad_() for part in inputs]
    expected = results_and_gradients(_Steps.apply, exact, sizes)
    for _ in range(3):  # a race would not be the same each time
        mine = results_and_gradients(_StepsInOneLaunch.apply, inputs, sizes)
        for one, other in zip(mine, expected, strict=True):
            error = float((one.double() - other).norm() / other.norm())
            assert error < tolerance


@pytest.mark.parametrize("sizes", PACKED, ids=len)
def test_waiting_changes_nothing(sizes: tuple[int, ...]) -> None:
    """One launch a step needs no waiting: bit for bit the same, or somebody did not wait."""
    from wordmint.model.kernels import recurrence

    gates, w_hh, hidden, cell = (part.detach() for part in lstm_inputs(sizes, 600, torch.bfloat16))
    plan = recurrence.schedule(sizes, GPU)
    outputs, last_hidden = torch.randn_like(gates[:, :600]), torch.randn_like(hidden)
    last_cell = torch.randn(hidden.shape, device=GPU)
    for _ in range(5):
        whole, single = (recurrence.forward(gates, w_hh, hidden, cell, plan, one_launch=one) for one in (True, False))
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(whole, single, strict=True))
        _, cells, opened = whole
        back, one_by_one = (
            recurrence.backward(outputs, last_hidden, last_cell, w_hh, cells, opened, plan, one_launch=one)
            for one in (True, False)
        )
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(back, one_by_one, strict=True))


def test_a_model_learns_the_same_with_steps_in_one_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    for in_one_launch in (False, True):
        monkeypatch.setattr(lstm, "IN_ONE_LAUNCH", in_one_launch)
        network, windows = network_and_windows()
        step, state, seen = GraphStep(network, CONFIG), network.start(2), []
        for window in windows[:20]:
            state = step(window, state)
            seen.append(step.nats.clone())
        losses.append(torch.stack(seen))
    torch.testing.assert_close(losses[0], losses[1], rtol=2e-3, atol=0)


# ---- the step as one graph ---------------------------------------------------------------------------------------


def windows_of_one_shape(network: Network, num_words: int = 700) -> list[AnyWindow]:
    text = made_text(num_words, num_types=20, seed=1)
    windows = [window for window in laid_out(network, text, 2) if isinstance(window, Window)]
    laid = laid_out(network, text, 2, profile=fitting_profile(windows, share=1.0))
    return [to_device(window, GPU) for window in laid]


def network_and_windows(dropout: Dropout = NO_DROPOUT) -> tuple[Network, list[AnyWindow]]:
    torch.manual_seed(3)
    config = CONFIGS["hclm-cache"]
    assert isinstance(config, HCLMConfig)
    network = build(replace(config, units=32, dropout=dropout), 9).to(GPU).train()
    return network, windows_of_one_shape(network)


CONFIG = TrainingConfig(streams=2, words_per_window=7, averaging=0.9, learning_rate=0.01)


def test_a_graph_learns_what_the_ordinary_step_learns() -> None:
    losses = []
    for kind in (Step, GraphStep):
        network, windows = network_and_windows()
        step, state, seen = kind(network, CONFIG), network.start(2), []
        for window in windows:
            state = step(window, state)
            seen.append(step.nats.clone())
        losses.append(torch.stack(seen))
        if isinstance(step, GraphStep):
            assert step.graph is not None
            assert step.num_eager == WARM_UP_STEPS
        assert step.average is not None and step.average.num_updates == len(windows)
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-5, atol=0)


def test_a_graph_drops_other_values_each_time() -> None:
    network, windows = network_and_windows(Dropout(0.5, 0.5, 0.5, 0.5, 0.5, 0.5))
    step, state = GraphStep(network, replace(CONFIG, learning_rate=1e-12)), network.start(2)
    for window in windows[: WARM_UP_STEPS + 1]:
        state = step(window, state)
    before, totals = network.start(2), []
    for _ in range(3):
        step.nats.zero_()
        step(windows[0], before)
        totals.append(float(step.nats))
    assert len(set(totals)) == 3


def test_a_graph_hears_of_a_new_learning_rate() -> None:
    network, windows = network_and_windows()
    step, state = GraphStep(network, CONFIG), network.start(2)
    for window in windows[: WARM_UP_STEPS + 2]:
        state = step(window, state)
    parameter = next(network.parameters())
    moved = []
    for rate in (1e-2, 0.0):
        step.set_learning_rate(rate)
        before = parameter.detach().clone()
        state = step(windows[5], state)
        moved.append(float((parameter.detach() - before).abs().max()))
    assert moved[0] > 0
    assert moved[1] == 0


def test_a_window_of_another_shape_takes_the_ordinary_step() -> None:
    network, windows = network_and_windows()
    odd = next(iter(laid_out(network, made_text(14, num_types=20, seed=1, longest=9), 2)))
    step, state = GraphStep(network, CONFIG), network.start(2)
    for window in [*windows[: WARM_UP_STEPS + 2], to_device(odd, GPU), windows[6]]:
        state = step(window, state)
        assert torch.isfinite(step.nats)
    assert step.average is not None and step.average.num_updates == WARM_UP_STEPS + 4
