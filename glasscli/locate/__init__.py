"""What a user calls a model → where it lies: a path, the shipped model, Hugging Face's cache, or a download."""
