"""``--safe-cells``: in no table is text of the data that a spreadsheet would take for a formula."""

import csv
from pathlib import Path

import pytest

import shapelex as sx
from tests.cli.conftest import lines_of, run

COMMANDS = {
    "import": ("import", "odd.npz", "-o", "t.csv"),
    "import to a .tsv": ("import", "odd.npz", "-o", "t.tsv"),
    "register": ("register", "odd.npz", "-o", "t.csv"),
    "impute": ("impute", "odd.npz", "-o", "t.csv"),
    "reconstruct": ("reconstruct", "model.npz", "odd.npz", "-o", "t.csv"),
    "mean": ("mean", "odd.npz", "--by-label", "-o", "t.csv"),
    "encode": ("encode", "model.npz", "odd.npz", "-o", "t.csv"),
    "distances": ("distances", "odd.npz", "-o", "t.tsv"),
    "sequence": ("sequence", "model.npz", "odd.npz", "--switch-cost", "0", "-o", "t.csv"),
    "tested": ("classify", "odd.npz", "--folds", "2", "--tested", "t.csv"),
    "misclassified": ("classify", "odd.npz", "--folds", "2", "--misclassified", "t.csv"),
    "test": ("test", "odd.npz", "--by", "label", "--permutations", "19", "-o", "found"),
    "table of a test": ("test", "odd.npz", "--by", "=column", "--permutations", "19", "--table", "t.csv"),
}


@pytest.fixture
def odd(ready, shapes):
    """A set whose ids, labels, columns and names of columns are formulas."""
    made = shapes.replace(
        ids=[f"=cell {n}" for n in range(40)],
        labels=["@SUM(A1)", "+1"] * 20,
        metadata={"=column": ["-x", "=y"] * 20},
    )
    sx.write(made, "odd.npz")
    return ready


def formulas_in(*paths: Path) -> set[str]:
    found = set()
    for path in paths:
        with path.open(newline="") as stream:
            rows = list(csv.reader(stream, delimiter="\t" if path.suffix == ".tsv" else ","))
        found |= {
            cell for row in rows for cell in row if cell.lstrip()[:1] in ("=", "+", "-", "@") and not is_number(cell)
        }
    return found


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    # The label "+1" is text.
    return not cell.startswith("+")


@pytest.mark.parametrize("name", COMMANDS)
def test_text_of_the_data_is_no_formula(odd, name):
    words = COMMANDS[name]
    target = Path(words[-1])

    def tables() -> list[Path]:
        return sorted(target.glob("*.csv")) if target.is_dir() else [target]

    lines_of(run(*words))
    assert formulas_in(*tables())
    lines_of(run(*words, "--force", "--safe-cells"))
    assert formulas_in(*tables()) == set()


def test_predictions_have_safe_names_of_columns(odd):
    lines_of(run("classify", "odd.npz", "--no-test", "-o", "c.npz"))
    lines_of(run("classify", "c.npz", "odd.npz", "-o", "p.csv", "--safe-cells"))
    with Path("p.csv").open(newline="") as stream:
        names, *rows = csv.reader(stream)
    assert names == ["id", "predicted", "probability", "p +1", "p @SUM(A1)"]
    assert rows[0][0] == "'=cell 0"
    assert {row[1] for row in rows} <= {"'@SUM(A1)", "'+1"}


@pytest.mark.parametrize("suffix", [".npz", ".tps", ".parquet", ".xlsx"])
def test_other_formats_keep_text_as_it_is(odd, shapes, suffix):
    lines_of(run("import", "odd.npz", "-o", f"t{suffix}", "--safe-cells"))
    assert sx.read(f"t{suffix}").ids.tolist() == [f"=cell {n}" for n in range(40)]
