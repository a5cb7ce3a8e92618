"""How big is the KV cache? MHA, GQA, MQA side by side, or any model"""
