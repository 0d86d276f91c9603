"""The command line: one file a command, which parses, calls and prints.

Heavy imports stay inside the commands, so that ``shapelex --help`` answers at once.
"""
