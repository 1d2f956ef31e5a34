"""Additive attention, v · tanh(key + query), without ever holding all its (query, key, unit) triples in memory."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from wordmint.shapes import Float

VALUES_PER_BLOCK = {"cpu": 1 << 18, "cuda": 1 << 28}  # a block stays in the cache of a core, or fills a GPU
HAS_TRITON = find_spec("triton") is not None


def additive_scores(
    queries: Float[Tensor, "streams words units"],
    keys: Float[Tensor, "streams versions units"],
    score: Float[Tensor, " units"],
) -> Float[Tensor, "streams words versions"]:
    """Score every key for every query of its stream, in the precision of the parameters even under autocast."""
    with torch.autocast(queries.device.type, enabled=False):
        return _AdditiveScores.apply(queries.to(score.dtype), keys.to(score.dtype), score)  # pyright: ignore


class _AdditiveScores(torch.autograd.Function):
    """The backward pass computes the hyperbolic tangents again."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, score: Tensor) -> Tensor:
        ctx.save_for_backward(queries, keys, score)
        if _fits_kernel(queries):
            from wordmint.model.kernels import additive

            return additive.scores(queries, keys, score)
        return scores_in_blocks(queries, keys, score)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:  # pyright: ignore
        queries, keys, score = ctx.saved_tensors
        if _fits_kernel(queries):
            from wordmint.model.kernels import additive

            return additive.gradients(queries, keys, score, *grads)
        return gradients_in_blocks(queries, keys, score, *grads)


def _fits_kernel(queries: Tensor) -> bool:
    return HAS_TRITON and queries.is_cuda and queries.dtype == torch.float32


def scores_in_blocks(queries: Tensor, keys: Tensor, score: Tensor) -> Float[Tensor, "streams words versions"]:
    """A block of words at a time."""
    scores = queries.new_empty(*queries.shape[:2], keys.shape[1])
    for streams, words in _blocks(queries, keys):
        scores[streams, words] = _tanh(queries[streams, words], keys[streams]) @ score
    return scores


def gradients_in_blocks(
    queries: Tensor, keys: Tensor, score: Tensor, grad_scores: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Of queries, keys and score."""
    grad_queries = torch.empty_like(queries)
    grad_keys, grad_score = torch.zeros_like(keys), torch.zeros_like(score)
    for streams, words in _blocks(queries, keys):
        grad = grad_scores[streams, words]
        tanh = _tanh(queries[streams, words], keys[streams])
        grad_score += torch.einsum("btv,btvu->u", grad, tanh)
        slope = torch.addcmul(torch.ones_like(tanh[..., :1]), tanh, tanh, value=-1)
        grad_queries[streams, words] = torch.einsum("btv,btvu->btu", grad, slope)
        grad_keys[streams] += torch.einsum("btv,btvu->bvu", grad, slope)
    return grad_queries * score, grad_keys * score, grad_score


def _tanh(queries: Tensor, keys: Tensor) -> Float[Tensor, "streams words versions units"]:
    return (queries[:, :, None] + keys[:, None]).tanh_()


def _blocks(queries: Tensor, keys: Tensor) -> list[tuple[slice, slice]]:
    """Streams and words, as many at a time as a block holds, at least one of each."""
    num_streams, num_words, units = queries.shape
    budget = max(1, VALUES_PER_BLOCK[queries.device.type] // (keys.shape[1] * units))
    streams_at_once = max(1, budget // num_words)
    words_at_once = min(budget, num_words)
    return [
        (slice(stream, stream + streams_at_once), slice(word, word + words_at_once))
        for stream in range(0, num_streams, streams_at_once)
        for word in range(0, num_words, words_at_once)
    ]
