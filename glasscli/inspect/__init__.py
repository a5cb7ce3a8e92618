"""One run looked into: its steps by name, what must be true of them, what a head does."""
