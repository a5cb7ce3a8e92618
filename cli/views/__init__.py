"""Library dataclasses to what a terminal shows."""
