"""Where the command ``shapelex`` starts."""

import sys


def main() -> None:
    """Run the command line; without typer, say what to install."""
    try:
        import rich  # noqa: F401

        from shapelex.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        sys.stderr.write(
            f'shapelex: the command line needs {error.name}, which is not installed: pip install "shapelex[report]".\n'
        )
        sys.exit(1)
    try:
        app(prog_name="shapelex")
    except KeyboardInterrupt:
        # Outside of any command, as while the arguments are read.
        sys.stderr.write("shapelex: interrupted.\n")
        sys.exit(130)
