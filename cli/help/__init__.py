"""Help: what it says is data (`parts`), made once from the code, and shown on a terminal or as a man page."""
