"""The mathematics of a Llama, one idea a file."""
