"""How attention works, chapter by chapter, on live numbers"""
