"""Training: one loop, its step, its checkpoints and its record."""
