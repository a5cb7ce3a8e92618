"""The course: how attention works, chapter by chapter, on the numbers of a real model."""
