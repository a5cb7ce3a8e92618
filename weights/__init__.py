"""The shipped checkpoints, as package data."""
