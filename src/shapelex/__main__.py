"""``python -m shapelex``: the command line."""

from shapelex.cli.main import main

if __name__ == "__main__":
    main()
