"""The command line: one file a command, which parses, calls and prints.

typer and rich come with ``pip install "shapelex[report]"``. Heavy imports stay inside the commands, so that
``shapelex --help`` answers at once.
"""
