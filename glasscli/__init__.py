"""Run a small Llama-style model in NumPy and see every number of it."""

__version__ = "0.1.0"
