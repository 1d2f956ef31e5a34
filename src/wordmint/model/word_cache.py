"""The word cache: the probability of copying a word that occurred before (section 3.2, p_ptr)."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from wordmint.model.attention import additive_scores, fits_kernels
from wordmint.model.cache_plan import CachePlan
from wordmint.model.linear import Linear
from wordmint.model.packing import NOTHING
from wordmint.shapes import Bool, Float


class Copying(NamedTuple):
    """What the cache says of the words of a window."""

    log_p_copy: Float[Tensor, "streams words"]  # −∞ for a word that is not in the cache
    is_empty: Bool[Tensor, "streams words"]
    keys: Float[Tensor, "streams slots units"]  # after the window


class WordCache(nn.Module):
    """Attention over the words in the cache, keyed by the h_t that predicted them."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.query = Linear(units, units)
        self.key = Linear(units, units, bias=False)
        self.score = nn.Parameter(torch.empty(units))

    def forward(
        self,
        context: Float[Tensor, "streams words units"],
        carried: Float[Tensor, "streams slots units"],
        plan: CachePlan,
    ) -> Copying:
        keys = torch.cat([carried, written_keys(context.to(carried.dtype), carried, plan)], dim=1)
        scores = additive_scores(torch.tanh(self.query(context)), self.key(keys), self.score)
        log_p_copy, is_empty = chosen(scores, plan)
        return Copying(log_p_copy, is_empty, _gather_keys(keys, plan))


def chosen(
    scores: Float[Tensor, "streams words versions"], plan: CachePlan
) -> tuple[Float[Tensor, "streams words"], Bool[Tensor, "streams words"]]:
    """Log-probability of the version that each word hits, among all that live then; and where none does."""
    if fits_kernels(scores):
        return _Choice.apply(scores, plan)  # pyright: ignore
    living = _living(plan)
    is_empty = ~living.any(-1)
    scores = scores.masked_fill(~living & ~is_empty[..., None], -torch.inf)
    is_hit = plan.hit != NOTHING
    hit_scores = scores.gather(-1, plan.hit.clamp(min=0)[..., None]).squeeze(-1)
    return torch.where(is_hit, hit_scores, -torch.inf) - scores.logsumexp(-1), is_empty


class _Choice(torch.autograd.Function):
    """The same on a GPU, in one kernel."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, plan: CachePlan) -> tuple[Tensor, Tensor]:
        from wordmint.model.kernels import copying

        log_p, is_empty, log_sum = copying.choose(scores, plan.hit, plan.last_time, plan.slots)
        ctx.save_for_backward(scores, plan.hit, plan.last_time, log_sum)
        ctx.slots = plan.slots
        ctx.mark_non_differentiable(is_empty)
        return log_p, is_empty

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:  # pyright: ignore
        from wordmint.model.kernels import copying

        scores, hit, last_time, log_sum = ctx.saved_tensors
        return copying.gradient(scores, hit, last_time, ctx.slots, log_sum, grads[0]), None


def written_keys(
    context: Float[Tensor, "streams words units"], carried: Float[Tensor, "streams slots units"], plan: CachePlan
) -> Float[Tensor, "streams words units"]:
    """The key that each word of the window writes: h_t after a miss, the mean of the old key and h_t after a hit.

    Followed back through its chain (see `cache_plan`) this is a weighted sum of h_s, and of a carried key.
    """
    begins = plan.carried[..., None].expand(-1, -1, carried.shape[-1])
    return plan.weight.to(context) @ context + plan.carried_weight[..., None] * carried.gather(1, begins)


def _living(plan: CachePlan) -> Bool[Tensor, "streams words versions"]:
    """Which versions are in the cache when each word is predicted."""
    num_words = plan.hit.shape[1]
    time = torch.arange(num_words, device=plan.hit.device)
    written = torch.cat([time.new_full((plan.slots,), -1), time])
    return (written < time[:, None]) & (time[:, None] <= plan.last_time[:, None, :])


def _gather_keys(
    keys: Float[Tensor, "streams versions units"], plan: CachePlan
) -> Float[Tensor, "streams slots units"]:
    return keys.gather(1, plan.kept[..., None].expand(-1, -1, keys.shape[-1]))
