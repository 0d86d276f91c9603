"""Damaged files of every format: only the documented errors, in bounded memory."""

import gzip

import numpy as np
import pytest

import shapelex as sx
from tests.fuzz_targets import make_shape_files
from tests.io.fuzzing import check_damaged, damage
from tests.io.test_csv import LONG, WIDE
from tests.io.test_nts import MORPHOLOGIKA, NTS
from tests.io.test_tps import CURVED, OUTLINE, PLAIN

N_CASES = 400

TPS = "# wings\n" + PLAIN * 3 + CURVED + OUTLINE + PLAIN.replace("0 1", "nan nan")
CASES = {
    "wings.tps": (TPS.encode(), {"closed": False, "n_points": 5}),
    "raw.tps": (PLAIN.encode() * 4, {"missing": "allow"}),
    "curves.tps": (CURVED.encode() * 2, {"curves": "append", "missing": "negative"}),
    "crlf.tps": (TPS.replace("\n", "\r\n").encode("utf-16"), {"closed": True, "space": sx.BSpline(4)}),
    "wide.csv": (WIDE.encode(), {}),
    "blocks.csv": (b"a,0,1,1,0,0,0,1,1\nb,0,2,2,0,0,0,2,2\n", {"layout": "blocks"}),
    "comma.csv": (WIDE.replace(",", ";").replace("0;0", "0,5;0").encode(), {}),
    "long.tsv": (LONG.replace(",", "\t").encode(), {"missing": "allow"}),
    "packed.csv.gz": (gzip.compress(WIDE.encode()), {}),
    "wings.nts": (NTS.encode(), {}),
    "labelled.nts": (NTS.replace("6 0 DIM", "6L 1 -999 DIM").replace("right\n", "right a b c d e f\n").encode(), {}),
    "wings.txt": (MORPHOLOGIKA.encode(), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_text_formats(tmp_path, name):
    content, options = CASES[name]
    n_read = check_damaged(content, tmp_path / name, N_CASES, **options)
    # Some damage does no harm, so a reader that refuses everything would show here.
    assert 0 < n_read < N_CASES


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path, save):
    points = np.random.default_rng(0).normal(size=(3, 5, 2))
    save(tmp_path / "a.npz", points=points, closed=True, labels=["a", "", "b"], frame=[1, 2, 3])
    assert check_damaged((tmp_path / "a.npz").read_bytes(), tmp_path / "b.npz", N_CASES) < N_CASES


def test_own_npz(tmp_path):
    shapes = sx.ShapeSet([[0, 1, 1j, 2]], sx.HermiteSpline(2), labels=["a"], metadata={"a b": [3]}, notes=["n"])
    content = sx.write(shapes, tmp_path / "a.npz").read_bytes()
    assert check_damaged(content, tmp_path / "b.npz", N_CASES) < N_CASES


def test_npy(tmp_path):
    np.save(tmp_path / "a.npy", np.random.default_rng(0).normal(size=(3, 5, 2)))
    n_read = check_damaged((tmp_path / "a.npy").read_bytes(), tmp_path / "b.npy", N_CASES, missing="allow")
    assert 0 < n_read < N_CASES


@pytest.mark.parametrize("name", ["unknown", "unknown.txt", "unknown.dat"])
def test_any_content_under_a_name_that_tells_nothing(tmp_path, name):
    for content, _ in CASES.values():
        check_damaged(content, tmp_path / name, 60)


def test_damage_is_reproducible_and_damages():
    copies = [damage(TPS.encode(), seed) for seed in range(100)]
    assert copies == [damage(TPS.encode(), seed) for seed in range(100)]
    assert sum(copy != TPS.encode() for copy in copies) > 90


def test_the_check_can_fail(tmp_path):
    def read(path, **options):
        raise KeyError(path)

    with pytest.raises(AssertionError, match=r"case 0 of a\.tps raised KeyError"):
        check_damaged(b"LM=2", tmp_path / "a.tps", 3, read=read)


def test_every_format(tmp_path):
    (tmp_path / "whole").mkdir()
    make_shape_files(tmp_path / "whole")
    for path in sorted(path for path in (tmp_path / "whole").iterdir() if path.is_file()):
        check_damaged(path.read_bytes(), tmp_path / path.name, 12, n_points=20)
