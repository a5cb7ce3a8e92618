"""How likely each token of a given text is"""
