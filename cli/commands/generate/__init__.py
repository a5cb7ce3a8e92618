"""Continue a text, token by token"""
