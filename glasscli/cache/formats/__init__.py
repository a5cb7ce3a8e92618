"""What keys and values are packed in, bit by bit: one file a family of formats, found by name in `registry`."""
