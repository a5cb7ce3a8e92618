"""Two prompts: what differs, where it went, and which head carries it"""
