"""Rows in blocks and batches: what is read, and how often."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.learning.sampling import shuffled_batches
from shapelex.shapes import storage
from tests.learning.samples import clustered, plain_shapes, random_rows

# More than one stretch, and few enough bytes that not all of them are shuffled together.
MANY_ROWS, FEW_BYTES = 50_000, 16 * 4 * 20_000


@pytest.mark.parametrize("batch_size", [3, 50, 333, 10_000])
def test_batches_hold_every_row_once(batch_size):
    rows = random_rows(MANY_ROWS, 4)
    weights = np.arange(float(MANY_ROWS))
    source = plain_shapes(rows, weights)
    batches = list(shuffled_batches(source, batch_size, np.random.default_rng(0), FEW_BYTES))
    sizes = [len(batch) for batch in batches]
    assert sizes[:-1] == [batch_size] * (len(sizes) - 1)
    assert sum(sizes) == MANY_ROWS
    found = np.concatenate([batch.read(0, len(batch)) for batch in batches])
    found_weights = np.concatenate([batch.weights_of(slice(None)) for batch in batches])
    numbers = found_weights.astype(int)
    assert len(set(numbers.tolist())) == len(numbers)
    np.testing.assert_array_equal(found, rows[numbers])
    # Shuffled, over more than one stretch.
    assert np.abs(np.diff(numbers)).max() > 20_000
    again = next(shuffled_batches(source, batch_size, np.random.default_rng(0), FEW_BYTES))
    np.testing.assert_array_equal(again.read(0, len(again)), batches[0].read(0, sizes[0]))


def test_batches_without_weight_are_left_out():
    batches = list(shuffled_batches(plain_shapes(random_rows(40, 4), np.arange(40) % 2), 1, np.random.default_rng(0)))
    assert [len(batch) for batch in batches] == [1] * 20
    assert all(batch.weights_of(slice(None)) == 1 for batch in batches)


@pytest.mark.parametrize("change", [(0, 0), (500, 3), (999, 7)])
def test_the_hash_sees_every_number(change, monkeypatch):
    rows = clustered(1000, 8)
    digest = plain_shapes(rows).digest()
    monkeypatch.setattr(storage, "BLOCK_ROWS", 64)
    assert plain_shapes(rows).digest() == digest
    changed = rows.copy()
    changed[change] *= 1 + 1e-15
    assert plain_shapes(changed).digest() != digest


def test_integer_weights_count_as_copies():
    rows = random_rows(4, 5)
    for weights, n_copies in ((None, 4), ([3, 0, 1, 2], 6), ([0.5, 0, 0.1, 2.7], 4)):
        with pytest.raises(sx.exceptions.ParameterError, match=f"at most the number of shapes.*, {n_copies}, got 7"):
            sx.ShapeDictionary(7, 1).fit(rows, sample_weight=weights)
