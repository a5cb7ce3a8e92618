"""Your own Q, K, V or scores: raw, masked, softmax, mixed"""
