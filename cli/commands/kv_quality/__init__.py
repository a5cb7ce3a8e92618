"""What a smaller KV cache costs on a text, and where it hurts"""
