"""A sample of what ``make fuzz`` does, with fixed numbers of cases: all of it where CI is set, else a small part."""

import os
import tracemalloc

import pytest

from tests.fuzz_all import find_real_targets, run_case
from tests.fuzz_targets import Target, make_targets
from tests.io.fuzzing import damage

N_SHAPES, N_OTHERS = (400, 60) if os.environ.get("CI") else (20, 6)
# Far above what a set of a small file takes, far below what a machine has.
MAX_BYTES = 256 << 20


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


def test_damaged_files(tmp_path):
    (tmp_path / "copies").mkdir()
    targets = make_targets(tmp_path / "whole")
    shapes = [target for target in targets if target.kind == "shapes"]
    others = [target for target in targets if target.kind != "shapes"]
    for some, n_cases in ((shapes, N_SHAPES), (others, N_OTHERS)):
        assert faults_of(some, tmp_path / "copies", n_cases) == []


@pytest.mark.realdata
def test_damaged_copies_of_real_files(tmp_path):
    targets = [target for target in find_real_targets() if target.path.stat().st_size < 300_000]
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
