"""What each engine allocates for a layer: a module an engine."""
