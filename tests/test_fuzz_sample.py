"""A sample of what ``make fuzz`` does, with fixed numbers of cases: all of it where CI is set, else a small part."""

import os
import tracemalloc

import pytest

from tests.fuzz_all import run_case
from tests.fuzz_targets import Target, make_shape_targets, make_targets, read_shapes
from tests.io.fuzzing import damage

N_SHAPES, N_OTHERS = (400, 60) if os.environ.get("CI") else (20, 6)
# Far above what a set of a small file takes, far below what a machine has.
MAX_BYTES = 256 << 20

pytestmark = pytest.mark.filterwarnings("ignore:The dictionary still changed")


def faults_of(targets, folder, n_cases):
    """Read damaged copies of files, and measure the memory that every tenth takes."""
    faults, outcomes = [], set()
    for target in targets:
        for seed in range(n_cases):
            if seed % 10 == 0:
                tracemalloc.start()
            outcome, fault = run_case(target, folder / target.path.name, seed)
            outcomes.add(outcome)
            if seed % 10 == 0:
                fault = fault or "too much memory" * (tracemalloc.get_traced_memory()[1] > MAX_BYTES)
                tracemalloc.stop()
            if fault:
                faults.append(f"{target.path.name}, case {seed}: {fault}")
    # Some damage does no harm, so readers that refuse everything would show here.
    assert {"read", "refused"} <= outcomes
    return faults


def test_damaged_files_of_shapes(tmp_path):
    (tmp_path / "copies").mkdir()
    assert faults_of(make_shape_targets(tmp_path / "whole"), tmp_path / "copies", N_SHAPES) == []


def test_damaged_files_of_other_kinds(tmp_path):
    (tmp_path / "copies").mkdir()
    targets = [target for target in make_targets(tmp_path / "whole") if target.kind != "shapes"]
    assert faults_of(targets, tmp_path / "copies", N_OTHERS) == []


@pytest.mark.realdata
def test_damaged_copies_of_real_files(data_folder, tmp_path):
    paths = [path for path in (data_folder / "formats").rglob("*") if path.is_file() and path.stat().st_size < 300_000]
    targets = [Target("real", path, read_shapes) for path in sorted(paths) if not path.name.endswith("expected.json")]
    assert faults_of(targets, tmp_path, N_OTHERS) == []


def test_a_fault_is_found_and_damage_can_be_repeated(tmp_path):
    def fail(path, seed):
        raise KeyError(seed)

    path = tmp_path / "a.tps"
    path.write_bytes(b"LM=2\n0 0\n1 1\n" * 9)
    assert run_case(Target("shapes", path, fail), tmp_path / "b.tps", 3)[0] == "fault"
    copies = [damage(path.read_bytes(), seed) for seed in range(100)]
    assert copies == [damage(path.read_bytes(), seed) for seed in range(100)]
    assert sum(copy != path.read_bytes() for copy in copies) > 90
