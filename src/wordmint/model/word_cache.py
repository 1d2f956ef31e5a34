"""The word cache: the probability of copying a word that occurred before (section 3.2, p_ptr)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from wordmint.model.attention import additive_scores
from wordmint.model.cache_plan import CachePlan
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
        self.query = nn.Linear(units, units)
        self.key = nn.Linear(units, units, bias=False)
        self.score = nn.Parameter(torch.empty(units))

    def forward(
        self,
        context: Float[Tensor, "streams words units"],
        carried: Float[Tensor, "streams slots units"],
        plan: CachePlan,
    ) -> Copying:
        keys = torch.cat([carried, written_keys(context.to(carried.dtype), carried, plan)], dim=1)
        scores = additive_scores(torch.tanh(self.query(context)), self.key(keys), self.score)
        living = _living(plan)
        is_empty = ~living.any(-1)
        scores = scores.masked_fill(~living & ~is_empty[..., None], -torch.inf)
        is_hit = plan.hit != NOTHING
        hit_scores = scores.gather(-1, plan.hit.clamp(min=0)[..., None]).squeeze(-1)
        log_p_copy = torch.where(is_hit, hit_scores, -torch.inf) - scores.logsumexp(-1)
        return Copying(log_p_copy, is_empty, _gather_keys(keys, plan))


def written_keys(
    context: Float[Tensor, "streams words units"], carried: Float[Tensor, "streams slots units"], plan: CachePlan
) -> Float[Tensor, "streams words units"]:
    """The key that each word of the window writes: h_t after a miss, the mean of the old key and h_t after a hit.

    Followed back through a chain this is a sum: each h_s weighs one half for every hit from s on, its own included
    unless it began the chain, and a carried key one half for every hit.
    """
    num_words, num_slots = plan.chain.shape[1], plan.slots
    time = torch.arange(num_words, device=context.device)
    hits_since = plan.depth[:, :, None] - plan.depth[:, None, :] + (plan.depth > 0).long()[:, None, :]
    same_chain = (plan.chain[:, :, None] == plan.chain[:, None, :]) & (time[:, None] >= time)
    weights = torch.where(same_chain, 0.5 ** hits_since.to(context), 0.0)
    from_carried = torch.where(plan.chain < num_slots, 0.5 ** plan.depth.to(context), 0.0)
    begins = plan.chain.clamp(max=num_slots - 1)[..., None].expand(-1, -1, carried.shape[-1])
    return weights @ context + from_carried[..., None] * carried.gather(1, begins)


def _living(plan: CachePlan) -> Bool[Tensor, "streams words versions"]:
    """Which versions are in the cache when each word is predicted."""
    num_words = plan.chain.shape[1]
    time = torch.arange(num_words, device=plan.chain.device)
    written = torch.cat([time.new_full((plan.slots,), -1), time])
    return (written < time[:, None]) & (time[:, None] <= plan.last_time[:, None, :])


def _gather_keys(
    keys: Float[Tensor, "streams versions units"], plan: CachePlan
) -> Float[Tensor, "streams slots units"]:
    return keys.gather(1, plan.kept[..., None].expand(-1, -1, keys.shape[-1]))
