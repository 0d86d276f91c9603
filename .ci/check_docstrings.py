"""Validate the docstrings of every public name with numpydoc."""

import inspect
import sys

from numpydoc.validate import validate

import shapelex as sx

# Extended summaries, See Also and an example in every method are not asked for;
# RT02 wants unnamed return values, which ours are only in part.
IGNORED = {"ES01", "SA01", "EX01", "GL08", "RT02", "SS06", "PR04"}
IGNORED_IN_PROPERTIES = {"RT01"}
# A method that continues its summary "Norms of ..." names what comes back, so no verb starts it.
IGNORED_STYLE = {"SS05", "YD01"}
# Methods of spaces for the package itself: they trust their arguments, and have one sentence.
TRUSTED = {
    "check_space_of", "fold", "preshapes", "reverse_rows", "roll_rows", "scaled_parts", "unit_rows", "unwhiten_rows",
    "whiten_rows", "whitened_preshapes",
}  # fmt: skip


def public_objects() -> list[tuple[str, bool]]:
    """Return dotted names, and whether each is a property."""
    found = []
    modules = (sx, sx.datasets, sx.io, sx.plotting, sx.report, sx.sequences, sx.statistics)
    values = [getattr(module, name) for module in modules for name in module.__all__]
    for value in values:
        if inspect.ismodule(value):
            continue
        path = f"{value.__module__}.{value.__qualname__}"
        found.append((path, False))
        if inspect.isclass(value):
            for attribute, member in inspect.getmembers(value):
                if attribute.startswith("_") or attribute in TRUSTED or not getattr(member, "__doc__", None):
                    continue
                if inspect.isfunction(member) and member.__module__.startswith("shapelex"):
                    found.append((f"{path}.{attribute}", False))
                elif isinstance(inspect.getattr_static(value, attribute), property):
                    found.append((f"{path}.{attribute}", True))
    return found


def main() -> int:
    """Print what is wrong, and return 1 when something is."""
    n_wrong = 0
    for path, is_property in public_objects():
        ignored = IGNORED | IGNORED_STYLE | (IGNORED_IN_PROPERTIES if is_property else set())
        for code, message in validate(path)["errors"]:
            if code not in ignored:
                n_wrong += 1
                sys.stdout.write(f"{path}: {code} {message}\n")
    sys.stdout.write(f"docstrings: {n_wrong} problems in {len(public_objects())} public objects\n")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
