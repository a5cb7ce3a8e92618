"""A stranger's config.json, read once: one kind of attention a layer, and what running the model needs beside it."""
