"""How good a model is: bits, with what they count; the paper's numbers and simple baselines beside them."""
