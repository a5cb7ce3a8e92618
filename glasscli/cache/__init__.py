"""Keys and values of the tokens seen, held for whoever runs the loop."""
