"""The loop: a prompt, then one token after the other, as Step objects. It prints nothing."""
