"""The fused additive attention on a GPU, with several tilings, against what its triples must cost.

    python benchmarks/attention.py

Shapes are those of a training window at the paper's sizes: 25 streams, 35 words, 135 versions, 600 units. The floor
counts one reciprocal a triple, at the rate of the special-function units (16 a clock and multiprocessor), twice for the
backward pass. Prints a table, then one JSON line.
"""

from __future__ import annotations

import json

import torch
from triton.testing import do_bench  # pyright: ignore[reportMissingImports]

from wordmint.model.kernels import additive

GPU = torch.device("cuda")
STREAMS, NUM_WORDS, NUM_VERSIONS, NUM_UNITS = 25, 35, 135, 600
TILINGS = [
    (8, 16, 32, 4),
    (4, 16, 32, 4),
    (8, 32, 32, 8),
    (4, 8, 64, 2),
    (4, 16, 16, 4),
    (4, 8, 32, 4),
    (2, 16, 32, 4),
    (4, 8, 32, 2),
    (2, 16, 64, 4),
]
RECIPROCALS_A_CLOCK = 16
HERTZ = 1.7e9


def main() -> None:
    torch.manual_seed(0)
    queries = torch.randn(STREAMS, NUM_WORDS, NUM_UNITS, device=GPU).tanh()
    keys, score = torch.randn(STREAMS, NUM_VERSIONS, NUM_UNITS, device=GPU), torch.randn(NUM_UNITS, device=GPU)
    exp_queries, exp_keys = additive.exponentials(queries), additive.exponentials(keys)
    grad = torch.randn(STREAMS, NUM_WORDS, NUM_VERSIONS, device=GPU)
    triples = STREAMS * NUM_WORDS * NUM_VERSIONS * NUM_UNITS
    processors = torch.cuda.get_device_properties(GPU).multi_processor_count
    floor = triples / (processors * RECIPROCALS_A_CLOCK * HERTZ) * 1e3
    rows = []
    for tiling in TILINGS:
        additive.WORDS, additive.VERSIONS, additive.UNITS, additive.WARPS = tiling
        forward = do_bench(lambda: additive.scores(exp_queries, exp_keys, score), return_mode="median")
        backward = do_bench(
            lambda: additive.gradients(exp_queries, exp_keys, score, grad, torch.bfloat16), return_mode="median"
        )
        rows.append({"tiling": tiling, "forward_milliseconds": forward, "backward_milliseconds": backward})
        print(f"{tiling!s:18} forward {forward:.4f} ms  backward {backward:.4f} ms  floor {floor:.4f} ms")
    print(json.dumps({"benchmark": "attention", "device": torch.cuda.get_device_name(), "results": rows}))


if __name__ == "__main__":
    main()
