"""The paper's table, by ``python -m paper`` in a process of its own."""

import subprocess
import sys
import tempfile
from pathlib import Path

from measure import print_result, skip

TITLES = (
    "docs/how-to/reproduce.md, What to expect: RMSE in percent",
    "docs/how-to/reproduce.md, What to expect: seconds",
)
FILES = ("reproduction-errors.md", "reproduction-seconds.md")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "reproduction"
        command = [sys.executable, "-m", "paper", "-o", str(out)]
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
        page = out / "reproduction.md"
        if done.returncode != 0 or not page.is_file():
            skip("the paper, rerun", done.stderr)
            return
        tables = _tables(page.read_text(encoding="utf-8"))
    for title, table, file in zip(TITLES, tables, FILES, strict=False):
        print_result(title, table, file)


def _tables(page: str) -> list[str]:
    return [block for block in page.split("\n\n") if block.startswith("|")]
