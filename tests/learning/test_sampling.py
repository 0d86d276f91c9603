"""Rows in blocks and batches: what is read, and how often."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.learning import sampling
from shapelex.learning.sampling import count_copies, shuffled_batches
from shapelex.shapes import collection
from shapelex.shapes.opening import as_shapes
from tests.learning.samples import clustered, plain_shapes, random_rows


class CountingArray:
    """A chunked array that counts how often each of its rows is read."""

    def __init__(self, rows, chunk_rows):
        self._rows = rows
        self.shape, self.dtype, self.chunks = rows.shape, rows.dtype, (chunk_rows, rows.shape[1])
        self.counts = np.zeros(len(rows), dtype=int)

    def __getitem__(self, stretch):
        self.counts[stretch] += 1
        return self._rows[stretch]


@pytest.fixture
def _small_blocks(monkeypatch):
    monkeypatch.setattr(collection, "BLOCK_ROWS", 64)
    monkeypatch.setattr(sampling, "_SHUFFLED_BYTES", 16 * 8 * 200)
    monkeypatch.setattr("shapelex.shapes.stored._UNPACKED_ROWS", 32)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("batch_size", [1, 50, 64, 333, 1000, 5000])
def test_batches_hold_every_row_once(batch_size):
    rows = random_rows(1000, 8)
    weights = np.arange(1000.0)
    source = plain_shapes(rows, weights)
    batches = list(shuffled_batches(source, batch_size, np.random.default_rng(0)))
    sizes = [len(batch) for batch in batches]
    assert sizes[:-1] == [batch_size] * (len(sizes) - 1)
    # A batch of weight 0 is left out: here the first row alone.
    assert sum(sizes) == 1000 - (batch_size == 1)
    found = np.concatenate([batch.read(0, len(batch)) for batch in batches])
    found_weights = np.concatenate([batch.weights_of(slice(None)) for batch in batches])
    numbers = found_weights.astype(int)
    assert len(set(numbers.tolist())) == len(numbers)
    np.testing.assert_array_equal(found, rows[numbers])
    # Shuffled, over more than one block.
    assert np.abs(np.diff(numbers)).max() > 300
    again = next(shuffled_batches(source, batch_size, np.random.default_rng(0)))
    np.testing.assert_array_equal(again.read(0, len(again)), batches[0].read(0, sizes[0]))


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("chunk_rows", [7, 64, 100, 400])
@pytest.mark.parametrize("space", [sx.Landmarks(8), sx.BSpline(8)])
def test_an_epoch_reads_every_chunk_once(chunk_rows, space):
    stored = CountingArray(clustered(1000, 8), chunk_rows)
    source = as_shapes(stored, space)
    stored.counts[:] = 0
    for _ in shuffled_batches(source, 60, np.random.default_rng(0)):
        pass
    assert stored.counts.min() == stored.counts.max() == 1


@pytest.mark.usefixtures("_small_blocks")
def test_a_fit_from_batches_reads_the_store_once_an_epoch():
    stored = CountingArray(clustered(1000, 8), 100)
    sx.ShapeDictionary(4, 2, space=sx.BSpline(8), batch_size=60, max_iter=3, tol=0, random_state=0).fit(stored)
    # The first row is looked at; the sample for stability, first atoms, three epochs of 17 batches, the final loss.
    assert np.median(stored.counts) <= 6


@pytest.mark.usefixtures("_small_blocks")
def test_a_stream_is_read_once_and_in_order():
    rows, n_passes = clustered(1000, 8), 0

    def blocks():
        nonlocal n_passes
        n_passes += 1
        return (rows[start : start + 70] for start in range(0, 1000, 70))

    source = as_shapes(blocks, sx.Landmarks(8))
    n_before = n_passes
    n_rows = sum(len(batch) for batch in shuffled_batches(source, 60, np.random.default_rng(0)))
    assert n_rows == 1000
    assert n_passes - n_before <= 1


@pytest.mark.parametrize("change", [(0, 0), (500, 3), (999, 7)])
def test_the_hash_sees_every_number(change, monkeypatch):
    rows = clustered(1000, 8)
    digest = plain_shapes(rows).digest()
    monkeypatch.setattr(collection, "BLOCK_ROWS", 64)
    assert plain_shapes(rows).digest() == digest
    changed = rows.copy()
    changed[change] *= 1 + 1e-15
    assert plain_shapes(changed).digest() != digest


def test_the_hash_is_that_of_the_shapes_as_given(tmp_path):
    rows = clustered(100, 8)
    np.save(tmp_path / "rows.npy", rows)
    given = as_shapes(rows, sx.Landmarks(8))
    mapped = as_shapes(np.load(tmp_path / "rows.npy", mmap_mode="r"), sx.Landmarks(8))
    assert given.digest() == mapped.digest() == plain_shapes(rows).digest()


def test_integer_weights_count_as_copies():
    rows = random_rows(4, 5)
    assert count_copies(plain_shapes(rows)) == 4
    assert count_copies(plain_shapes(rows, [3, 0, 1, 2])) == 6
    assert count_copies(plain_shapes(rows, [0.5, 0, 0.1, 2.7])) == 4
