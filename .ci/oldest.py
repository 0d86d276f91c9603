"""Print pip constraints that hold every declared dependency to its oldest declared version.

``numpy>=2.0`` becomes ``numpy==2.0.*``: the newest patch release of that version.
Used by ``make test-oldest``.
"""

import re
import sys
import tomllib
from pathlib import Path

_REQUIREMENT = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?>=(?P<version>[0-9.]+)")


def main() -> int:
    """Read ``pyproject.toml`` and print one constraint per line."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    declared = [
        *project["project"]["dependencies"],
        *(entry for extra in project["project"]["optional-dependencies"].values() for entry in extra),
        *project["dependency-groups"]["test"],
    ]
    oldest: dict[str, str] = {}
    for requirement in declared:
        if not isinstance(requirement, str) or requirement.startswith("shapelex["):
            continue
        found = _REQUIREMENT.match(requirement)
        if found is None:
            raise SystemExit(f"{requirement!r} declares no oldest version: write name>=version.")
        name, version = found["name"], found["version"]
        if oldest.setdefault(name, version) != version:
            raise SystemExit(f"{name} is declared with two oldest versions, {oldest[name]} and {version}.")
    for name, version in sorted(oldest.items()):
        minor = version if "." in version else f"{version}.0"
        sys.stdout.write(f"{name}=={minor}.*\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
