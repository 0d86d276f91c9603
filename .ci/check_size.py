"""Fail where code or tests are larger than their budget in size.toml; ``--write`` lowers budgets to the present sizes.

The size of a folder is its lines of code: no blank lines, docstrings or comments. That of the tests is all lines.
"""

import ast
import sys
import tokenize
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUDGET = Path(__file__).with_name("size.toml")


def count_code(path: Path) -> int:
    """Return the lines of a file that are not blank, in a docstring, or a comment alone."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    others = {number for number, line in enumerate(lines, 1) if not line.strip()}
    for node in ast.walk(ast.parse(source)):
        can_have_one = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if can_have_one and ast.get_docstring(node, clean=False):
            others.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    with path.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type == tokenize.COMMENT and token.line.strip().startswith("#"):
                others.add(token.start[0])
    return len(lines) - len(others)


def measure() -> dict[str, int]:
    """Return the size of each folder of the package, of the files beside them, and of the tests."""
    package = ROOT / "src" / "shapelex"
    sizes = {"src/shapelex": sum(map(count_code, package.glob("*.py")))}
    for folder in sorted(path for path in package.iterdir() if path.is_dir()):
        if paths := list(folder.rglob("*.py")):
            sizes[f"src/shapelex/{folder.name}"] = sum(map(count_code, paths))
    sizes["tests"] = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "tests").rglob("*.py"))
    return sizes


def main() -> None:
    """Compare sizes with their budgets, or lower the budgets."""
    sizes = measure()
    budget = tomllib.loads(BUDGET.read_text(encoding="utf-8")) if BUDGET.exists() else {}
    if sys.argv[1:] == ["--write"]:
        lines = [f'"{folder}" = {min(size, budget.get(folder, size))}\n' for folder, size in sizes.items()]
        BUDGET.write_text("".join(lines), encoding="utf-8")
        return
    over = [
        f"{folder} has {size} lines, its budget is {budget.get(folder, 0)}."
        for folder, size in sizes.items()
        if size > budget.get(folder, 0)
    ]
    if over:
        advice = "Make the code simpler, or raise the budget in .ci/size.toml in a commit that says why."
        sys.exit("\n".join([*over, advice]))


if __name__ == "__main__":
    main()
