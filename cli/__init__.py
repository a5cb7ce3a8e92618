"""The only folder that knows a terminal: parse, call the library, show."""
