"""Hand-written GPU kernels; each computes the same function as plain PyTorch code beside its caller."""
