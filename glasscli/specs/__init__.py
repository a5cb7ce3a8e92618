"""What one layer of a model keeps between two steps, as data. It knows no bytes, no engine and no NumPy."""
