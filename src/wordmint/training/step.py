"""A training step: forward, backward, clip, Adam, average; as PyTorch runs it, or as one CUDA graph."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.utils import get_total_norm

from wordmint.model.language_model import Network
from wordmint.model.state import State
from wordmint.model.window import AnyWindow
from wordmint.training.average import Average
from wordmint.training.config import TrainingConfig


class Step:
    """What changes when a window is learnt: the weights, the optimiser, the average and the sum of nats."""

    def __init__(self, model: Network, config: TrainingConfig) -> None:
        self.model, self.config = model, config
        self.parameters = list(model.parameters())
        self.device = self.parameters[0].device
        on_gpu = self.device.type == "cuda"
        rate = torch.tensor(config.learning_rate, device=self.device) if on_gpu else config.learning_rate
        self.optimizer = torch.optim.Adam(self.parameters, lr=rate, fused=True, capturable=on_gpu)
        self.average = Average(model, config.averaging) if config.averaging else None
        self.nats = torch.zeros((), dtype=torch.float64, device=self.device)

    def __call__(self, window: AnyWindow, state: State) -> State:
        """Learn one window; the state after it is a constant for the next one."""
        state = self._learn(window, state)
        self.count_update()
        return state

    def count_update(self) -> None:
        """The average is corrected by the number of its updates."""
        if self.average:
            self.average.num_updates += 1

    def set_learning_rate(self, rate: float) -> None:
        """Of all steps from now on, captured ones too."""
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def _learn(self, window: AnyWindow, state: State) -> State:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bfloat16"):
            scores, after = self.model(window, state)
        nats = -scores.log_p.sum()
        (nats / window.present.sum()).backward()
        self._clip()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.average:
            self.average.update()
        self.nats += nats.detach()
        return after.detached()

    def _clip(self) -> None:
        """Gradients longer than allowed are shortened; ones that are not finite change nothing.

        Adam does both while it reads the gradients, as it would for a loss that was scaled.
        """
        norm = get_total_norm([p.grad for p in self.parameters if p.grad is not None])
        self.optimizer.grad_scale = (norm / self.config.max_gradient_norm).clamp(min=1.0)  # pyright: ignore
        self.optimizer.found_inf = (~norm.isfinite()).to(norm.dtype)  # pyright: ignore
