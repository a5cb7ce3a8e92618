"""Screens and texts kept as they were, with the scripts that make them anew."""
