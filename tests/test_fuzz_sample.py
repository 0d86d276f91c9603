"""A small sample of what ``make fuzz`` does, with fixed numbers of cases."""

import dataclasses

import pytest

from tests.fuzz_all import run_case
from tests.fuzz_targets import make_targets

N_CASES = 6


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    return make_targets(tmp_path_factory.mktemp("targets"))


@pytest.mark.filterwarnings("ignore:The dictionary still changed")
def test_damaged_files_of_every_kind(targets, tmp_path):
    faults = [
        f"{target.path.name}, case {seed}: {fault}"
        for target in targets
        if target.kind != "shapes"  # of which tests/io/test_fuzzing.py has a sample
        for seed in range(N_CASES)
        for _, fault in [run_case(target, tmp_path / target.path.name, seed)]
        if fault
    ]
    assert faults == []


def test_a_fault_is_found(targets, tmp_path):
    def fail(path, seed):
        raise KeyError(seed)

    target = dataclasses.replace(targets[0], read=fail)
    assert run_case(target, tmp_path / target.path.name, 3)[0] == "fault"
