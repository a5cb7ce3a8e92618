"""What each layer would say next, and who speaks for it"""
