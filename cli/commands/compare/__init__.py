"""Two prompts: what differs, where it went, which head carries it"""
