"""How many bytes a KV cache takes, without running anything."""
