"""What every screen is made of: width, wrapping, tables, colour, ASCII."""
