"""Writes the golden numbers anew: `python -m tests.golden.make`, when a change of the model was meant."""

from __future__ import annotations

import json

from tests.models import CONFIGS
from tests.test_training import GOLDEN, golden_losses

if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: golden_losses(name) for name in CONFIGS}, indent=1) + "\n")
