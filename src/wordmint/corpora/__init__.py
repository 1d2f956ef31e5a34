"""Corpora: where text comes from, prepared once, and what its statistics say."""
