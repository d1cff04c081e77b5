"""Does a changed model still compute the same?"""
