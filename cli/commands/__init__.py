"""One module or folder a command."""
