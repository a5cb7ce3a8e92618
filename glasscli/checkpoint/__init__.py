"""A stranger's files: settings, tensors by name, a tokenizer. Nothing outside the folder is read."""
