"""What tests of several folders share. Always imported as `helpers.…`, a name that nothing else has."""
