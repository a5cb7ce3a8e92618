"""Text to token ids and back. A character is never split."""
