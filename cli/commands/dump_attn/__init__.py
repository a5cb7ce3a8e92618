"""Show an attention layer: q k v, rope, cache, scores, softmax, out"""
