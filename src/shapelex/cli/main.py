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
    except OSError as error:
        # Help that goes to a full disk, for example.
        from shapelex.cli.terminal import silence

        silence(sys.stdout)
        sys.stderr.write(f"shapelex: {error.filename or 'standard output'}: {error.strerror}.\n")
        sys.exit(1)
