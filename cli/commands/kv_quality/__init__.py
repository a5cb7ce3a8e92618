"""What a smaller KV cache costs, and where it hurts: nats, KL divergence, memory"""
