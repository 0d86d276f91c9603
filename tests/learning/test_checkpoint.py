"""A fit that was cut off anywhere goes on to the same bits."""

import errno
import os

import numpy as np
import pytest
from sklearn.base import clone

import shapelex as sx
from shapelex.estimators import dictionary_learning as checkpoint_module
from shapelex.exceptions import CheckpointError, CheckpointWarning
from shapelex.files.checkpoint_file import previous_path, read_checkpoint, write_checkpoint
from tests.learning.samples import interrupt_when

WAYS = {
    "plain": {"coder": "ormp", "init": "random"},
    "default": {"coder": "exact", "n_nonzero": 3},
    "sample": {"n_atoms": 4, "coder": "ormp"},
    "swaps": {"coder": "beam", "n_nonzero": 1, "n_swaps": 9, "n_restarts": 2},
    "restarts": {"coder": "ormp", "n_restarts": 3, "init": "random", "max_iter": 3},
    "batches": {"coder": "ormp", "batch_size": 40, "max_iter": 3},
    "curves": {"coder": "ormp", "space": sx.BSpline(5), "init": "random"},
}


@pytest.fixture(autouse=True)
def _write_every_iteration(monkeypatch):
    monkeypatch.setattr(checkpoint_module, "_LEAST_SECONDS", 0)


RESULTS = ("atoms_", "usage_", "loss_curve_", "rmse_", "n_iter_")


def make_shapes(way="plain"):
    rng = np.random.default_rng(3)
    shape = (2500 if way == "sample" else 150, 5)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def make_model(way, **changes):
    return sx.ShapeDictionary(
        **({"n_atoms": 4, "n_nonzero": 2, "max_iter": 5, "tol": 0, "random_state": 1} | WAYS[way] | changes)
    )


def assert_same_fit(ours, theirs):
    for name in RESULTS:
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_array_equal(ours._memory.gram, theirs._memory.gram)


class CutOff(BaseException):
    """Stands for the end of the process."""


def cut_after(n_writes, monkeypatch):
    written = iter(range(n_writes))
    write = checkpoint_module.write_checkpoint

    def write_or_end(*arguments):
        if next(written, None) is None:
            raise CutOff
        write(*arguments)

    monkeypatch.setattr(checkpoint_module, "write_checkpoint", write_or_end)


@pytest.mark.parametrize("way", WAYS)
def test_fits_go_on_to_the_same_bits(way, tmp_path, monkeypatch):
    X = make_shapes(way)
    uninterrupted = make_model(way).fit(X)
    path = tmp_path / "fit.checkpoint"
    n_cut = 0
    for n_writes in (1, 0, 2):
        with monkeypatch.context() as patch:
            cut_after(n_writes, patch)
            try:
                make_model(way, checkpoint=path).fit(X)
            except CutOff:
                n_cut += 1
    assert n_cut >= 2
    model = make_model(way, checkpoint=path).fit(X)
    assert_same_fit(model, uninterrupted)


def test_finished_fits_return_at_once_and_go_on_with_more_iterations(tmp_path, monkeypatch):
    X = make_shapes()
    for way in ("swaps", "default", "plain"):
        path = tmp_path / way
        first = make_model(way, checkpoint=path).fit(X)
        with monkeypatch.context() as patch:
            cut_after(0, patch)
            assert_same_fit(make_model(way, checkpoint=path).fit(X), first)
    longer = make_model("plain", checkpoint=path, max_iter=9).fit(X)
    assert_same_fit(longer, make_model("plain", max_iter=9).fit(X))
    with pytest.raises(CheckpointError, match="max_iter 5 there, 9 here"):
        make_model("default", max_iter=9, checkpoint=tmp_path / "default").fit(X)


def test_short_iterations_are_written_once_at_the_end(tmp_path, monkeypatch):
    X, path = make_shapes(), tmp_path / "fit.checkpoint"
    monkeypatch.setattr(checkpoint_module, "_LEAST_SECONDS", 1e9)
    first = make_model("plain", checkpoint=path).fit(X)
    assert not previous_path(path).exists()
    assert_same_fit(make_model("plain", checkpoint=path, max_iter=9).fit(X), make_model("plain", max_iter=9).fit(X))
    assert first.n_iter_ == 5


def test_ctrl_c_keeps_all_complete_iterations(tmp_path, monkeypatch):
    X, path = make_shapes(), tmp_path / "fit.checkpoint"
    monkeypatch.setattr(checkpoint_module, "_LEAST_SECONDS", 1e9)
    with monkeypatch.context() as patch:
        interrupt_when(lambda learner: learner.n_passes == 4, patch)
        with pytest.raises(KeyboardInterrupt):
            make_model("plain", checkpoint=path).fit(X)
    assert len(read_checkpoint(path)[0]["curve"]) == 4
    assert_same_fit(make_model("plain", checkpoint=path).fit(X), make_model("plain").fit(X))


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-5], lambda data: b"x" + data[1:], lambda data: data[:-9] + b"123456789"]
)
def test_damaged_checkpoints_are_refused_and_the_good_one_named(damage, tmp_path):
    X, path = make_shapes(), tmp_path / "fit.checkpoint"
    expected = make_model("plain", checkpoint=path).fit(X)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(
        CheckpointError, match=r"is not a whole checkpoint .*the last good one is .*fit.checkpoint.previous"
    ):
        make_model("plain", checkpoint=path).fit(X)
    previous_path(path).replace(path)
    assert_same_fit(make_model("plain", checkpoint=path).fit(X), expected)
    path.write_bytes(b"")
    previous_path(path).unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match="no good one before it"):
        make_model("plain", checkpoint=path).fit(X)


def changed_in_the_middle(X):
    # The same shapes in other numbers: codes would differ.
    return np.concatenate([X[:1], 1.1j * X[1:-1], X[-1:]])


OTHER_FITS = [
    ({"n_atoms": 3}, None, None, "n_atoms 4 there, 3 here"),
    ({"random_state": 2}, None, None, "random_state"),
    ({"tol": 0.1}, None, None, "tol"),
    # Spaces that look the same in words.
    ({"space": sx.CustomSpace(np.diag([1, 2, 3, 4, 5]), np.ones(5))}, None, None, "gram"),
    ({"space": sx.CustomSpace(np.eye(5), np.array([1, 2, 1, 1, 1]))}, None, None, "shift"),
    ({}, lambda X: X[:-1], None, "n_shapes 150 there, 149 here"),
    ({}, changed_in_the_middle, None, "shapes '.*' there"),
    ({}, None, np.arange(150) + 1.0, "sample_weight"),
]


def test_checkpoints_of_other_fits_are_refused(tmp_path):
    X, path = make_shapes(), tmp_path / "fit.checkpoint"
    own = {"space": sx.CustomSpace(np.eye(5), np.ones(5)), "checkpoint": path}
    make_model("plain", **own).fit(X)
    before = path.read_bytes()
    for changes, change_shapes, weights, words in OTHER_FITS:
        with pytest.raises(CheckpointError, match=words):
            make_model("plain", **own | changes).fit(change_shapes(X) if change_shapes else X, sample_weight=weights)
    assert path.read_bytes() == before


def test_a_full_disk_does_not_lose_the_fit(tmp_path, monkeypatch, caplog):
    X, path = make_shapes(), tmp_path / "fit.checkpoint"
    synchronize = os.fsync
    n_calls = iter(range(10**6))

    def fill_up(handle):
        if next(n_calls) >= 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        synchronize(handle)

    monkeypatch.setattr(os, "fsync", fill_up)
    with pytest.warns(CheckpointWarning, match="could not be written.*No space left"):
        model = make_model("plain", checkpoint=path).fit(X)
    assert "could not be written" in caplog.text
    assert_same_fit(model, make_model("plain").fit(X))
    assert len(read_checkpoint(path)[0]["curve"]) == 2
    monkeypatch.undo()
    assert_same_fit(make_model("plain", checkpoint=path).fit(X), model)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["fit.checkpoint", "fit.checkpoint.previous"]


def test_missing_folders_are_told_before_the_work(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        make_model("plain", checkpoint=tmp_path / "missing" / "fit").fit(make_shapes())


def test_checkpoint_is_an_ordinary_parameter(tmp_path):
    model = make_model("plain", checkpoint=tmp_path / "fit")
    assert clone(model).checkpoint == tmp_path / "fit"
    loaded = sx.load(model.fit(make_shapes()).save(tmp_path / "model"))
    assert loaded.checkpoint is None


def resigned(path, change):
    """Write a checkpoint again after a change, with the checksum that it then has."""
    numbers, arrays = read_checkpoint(path)
    change(numbers, arrays)
    write_checkpoint(path, numbers, arrays)


CHANGES = {
    "text for a fingerprint": lambda numbers, arrays: numbers.update(fingerprint="mine"),
    "no atoms": lambda numbers, arrays: arrays.pop("atoms"),
    "no generator": lambda numbers, arrays: numbers.pop("generator"),
    "other generator": lambda numbers, arrays: numbers.update(generator={"bit_generator": "MT19937"}),
    "stage": lambda numbers, arrays: numbers.update(stage=-1),
    "more": lambda numbers, arrays: numbers.update(more=1),
    "no sums": lambda numbers, arrays: arrays.pop("found.gram"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_of_wrong_content_and_right_checksum(tmp_path, change):
    X, path = make_shapes(), tmp_path / "fit.checkpoint"
    model = make_model("plain", max_iter=2, checkpoint=path).fit(X)
    resigned(path, CHANGES[change])
    with pytest.raises(CheckpointError, match=r"fit\.checkpoint is damaged.*remove it to start again"):
        clone(model).fit(X)
