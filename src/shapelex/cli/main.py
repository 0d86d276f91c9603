"""Where the command ``shapelex`` starts."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from shapelex.cli.app import app

        app(prog_name="shapelex")
    except KeyboardInterrupt:
        # Outside of any command, as while the arguments are read.
        sys.stderr.write("shapelex: interrupted.\n")
        sys.exit(130)
