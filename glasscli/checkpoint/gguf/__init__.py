"""A GGUF file told in Hugging Face's words, so that nothing else needs to know the format.

Header, settings, names, numbers, each a file; `checkpoint` puts them together. Only `read` and the two files of
quantised types need NumPy. Source of the format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""
