"""Completion in bash, zsh and fish: a script asks glass at each Tab, and glass answers from one command's options."""
