"""Wordmint: open-vocabulary language modelling that coins words character by character and reuses them."""

__version__ = "0.1.0"
