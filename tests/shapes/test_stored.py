"""Sets over files, lists and streams are read in parts, and are those of arrays in memory."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ArrayTypeError, CoordinateCountError, EmptySetError, NonFiniteError, ShapeInputError


def make_shapes(n_shapes=50, n_points=6, dtype=complex, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n_shapes, n_points)) + 1j * rng.normal(size=(n_shapes, n_points))).astype(dtype)


def as_memmap(X, folder):
    np.save(folder / "shapes.npy", X)
    return np.load(folder / "shapes.npy", mmap_mode="r")


def as_zarr(X, folder):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(str(folder / "shapes.zarr"), shape=X.shape, chunks=(7, *X.shape[1:]), dtype=X.dtype)
    array[...] = X
    return array


def as_hdf5(X, folder):
    h5py = pytest.importorskip("h5py")
    file = h5py.File(folder / "shapes.h5", "w")
    return file.create_dataset("shapes", data=X, chunks=(9, *X.shape[1:]))


class Reiterable:
    def __init__(self, blocks):
        self.blocks = blocks

    def __iter__(self):
        return iter(self.blocks)


class Recorder:
    """An array on disk that counts the rows that were read, and remembers the most that were asked for at once."""

    def __init__(self, X, chunk_rows=None):
        self.rows, self.n_rows, self.most_rows = X, 0, 0
        self.shape, self.dtype = X.shape, X.dtype
        self.chunks = None if chunk_rows is None else (chunk_rows, X.shape[1])

    def __getitem__(self, stretch):
        rows = self.rows[stretch].copy()
        self.most_rows = max(self.most_rows, len(rows))
        self.n_rows += len(rows)
        return rows


KINDS = {
    "memmap": as_memmap,
    "zarr": as_zarr,
    "hdf5": as_hdf5,
    "list": lambda X, folder: [X[:3], X[3:3], X[3:40], X[40:]],
    "zarr list": lambda X, folder: [as_zarr(X[:20], folder), X[20:30], as_zarr(X[30:], folder / "second")],
    "stored list": lambda X, folder: [as_memmap(X[:20], folder), X[20:]],
    "function": lambda X, folder: lambda: (X[start : start + 11] for start in range(0, len(X), 11)),
    "re-iterable": lambda X, folder: Reiterable([X[:1], X[1:30], X[30:30], X[30:]]),
}


@pytest.fixture(params=KINDS)
def store(request, tmp_path):
    return lambda X: KINDS[request.param](X, tmp_path)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_parts_are_those_of_a_set_in_memory(store, dtype):
    X = make_shapes(dtype=dtype)
    columns = {"labels": list("ab") * 25, "metadata": {"frame": np.arange(50)}}
    stored, shapes = sx.ShapeSet(store(X), **columns), sx.ShapeSet(X, **columns)
    assert not stored.in_memory
    assert (stored.shape, stored.dtype, len(stored)) == (X.shape, dtype, 50)
    keys = [slice(start, stop) for start, stop in [(0, 50), (2, 45), (49, 50), (10, 12), (0, 30), (35, 60), (5, 5)]]
    for key in [*keys, slice(1, 48, 7), slice(None, None, -1), [30, 3, 30, 41], [], np.arange(50) % 3 == 0]:
        assert (stored[key].in_memory, stored[key].dtype) == (True, dtype)
        assert stored[key].equals(shapes[key])
    np.testing.assert_array_equal(stored[-4], X[-4])
    np.testing.assert_array_equal(list(stored), X)
    np.testing.assert_array_equal(stored.configurations[10:31], X[10:31])


def test_blocks_make_up_the_set(store):
    X = make_shapes()
    stored = sx.ShapeSet(store(X))
    for n_rows in (None, 1, 13, 50, 99):
        blocks = list(stored.blocks(n_rows))
        np.testing.assert_array_equal(np.concatenate([block.configurations for block in blocks]), X)
        assert [name for block in blocks for name in block.ids] == [str(row) for row in range(50)]
        assert n_rows is None or {len(block) for block in blocks[:-1]} <= {n_rows}
    with pytest.raises(ValueError, match="n_rows"):
        next(stored.blocks(0))


def test_all_methods_take_such_sets(store):
    X = make_shapes()
    stored, shapes = sx.ShapeSet(store(X), labels=["a"] * 50), sx.ShapeSet(X, labels=["a"] * 50)
    assert stored.equals(shapes)
    assert (stored + stored).equals(shapes + shapes)
    assert stored.summary() == shapes.summary()
    assert stored.replace(labels=None, space=sx.BSpline(6)).equals(shapes.replace(labels=None, space=sx.BSpline(6)))
    assert stored.to_dataframe().equals(shapes.to_dataframe())
    np.testing.assert_array_equal(stored.centroid_size, shapes.centroid_size)
    np.testing.assert_array_equal(stored.is_missing, shapes.is_missing)
    np.testing.assert_array_equal(np.asarray(stored), X)
    np.testing.assert_allclose(sx.mean_shape(stored), sx.mean_shape(X), atol=1e-12)
    assert "1 label" in repr(shapes)
    assert "not in memory" in repr(stored)
    assert "50 shapes" in stored._repr_html_()


def test_dask_arrays_are_not_computed():
    da = pytest.importorskip("dask.array")
    points = np.random.default_rng(1).normal(size=(50, 6, 2)).astype(np.float32)
    sizes = [points[:20], points[:0], points[20:]]
    lazy = sx.ShapeSet(da.concatenate([da.from_array(part, chunks=(7, 3, 1)) for part in sizes]), labels=["a"] * 50)
    shapes = sx.ShapeSet(points, labels=["a"] * 50)
    for made, expected in (
        (lazy, shapes),
        (lazy[[30, 3]], shapes[[30, 3]]),
        (lazy[5:5], shapes[5:5]),
        (lazy + lazy[:9], shapes + shapes[:9]),
        (lazy.replace(space=sx.BSpline(6)), shapes.replace(space=sx.BSpline(6))),
    ):
        assert isinstance(made.configurations, da.Array)
        assert (made.shape, made.dtype) == (expected.shape, np.complex64)
        assert made.equals(expected)
    assert lazy.summary() == shapes.summary()
    assert all(block.in_memory for block in lazy.blocks())


def test_real_points_become_complex(store):
    points = np.random.default_rng(1).normal(size=(50, 6, 2)).astype(np.float32)
    stored = sx.ShapeSet(store(points))
    assert stored.shape == (50, 6)
    np.testing.assert_array_equal(stored[5:33].configurations, sx.from_points(points)[5:33])


def test_columns_in_files_have_the_types_of_those_in_memory(tmp_path):
    X = make_shapes(5)
    columns = {"ids": np.arange(5) + 7, "labels": np.array(list("abcde")), "sequence": np.array([0, 0, 1, 1, -1], "i2")}
    stored = {name: as_zarr(column, tmp_path / name) for name, column in columns.items() if name != "labels"}
    stored["labels"] = as_memmap(columns["labels"], tmp_path)
    found, expected = sx.ShapeSet(X, **stored), sx.ShapeSet(X, **columns)
    for part, rows in ((found, slice(None)), (found[2:], slice(2, None)), (found[[3, 1]], [3, 1])):
        assert part.equals(expected[rows])
        assert part.sequence.dtype == np.int64
    with pytest.raises(ShapeInputError, match="sequence must be integers"):
        sx.ShapeSet(X, sequence=as_zarr(np.zeros(5), tmp_path))


def test_parts_of_a_map_are_copies(tmp_path):
    X = make_shapes()
    writable = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", complex, X.shape)
    writable[:] = X
    part = sx.ShapeSet(writable)[:20]
    writable[:] = 0
    np.testing.assert_array_equal(part.configurations, X[:20])
    private = np.load(tmp_path / "a.npy", mmap_mode="c")
    private[4] = 7
    assert (sx.ShapeSet(private)[4] == 7).all()


@pytest.mark.parametrize(("value", "missing"), [(np.nan, "error"), (np.inf, "error"), (np.inf, "allow")])
def test_coordinates_that_are_not_finite_are_refused_when_they_are_read(store, value, missing):
    X = make_shapes()
    X[33, 2] = value
    stored = sx.ShapeSet(store(X), missing=missing)
    assert len(stored[:30]) == 30
    with pytest.raises(NonFiniteError, match="row 33"):
        stored[30:40]


def test_missing_landmarks_are_missing_as_a_whole(tmp_path):
    X = make_shapes()
    X[33, 2] = complex(1, np.nan)
    stored = sx.ShapeSet(as_memmap(X, tmp_path), missing="allow")
    assert np.isnan(stored[33, ...][2].real)
    assert stored.is_missing.sum() == 1


@pytest.mark.parametrize("X", [np.zeros((2, 3), complex), [[1, 2, 3j]], [np.ones(3, complex)], [np.ones((4, 2))]])
def test_arrays_in_memory_are_one_block(X):
    shapes = sx.ShapeSet(X)
    assert shapes.in_memory
    assert [len(block) for block in shapes.blocks()] == [len(shapes)]


def test_blocks_that_change_are_refused():
    sizes = iter([5, 5, 3])
    stored = sx.ShapeSet(lambda: [make_shapes(next(sizes))])
    assert len(stored[:5]) == 5
    stored = stored.replace(ids=list("abcde"))
    with pytest.raises(ShapeInputError, match="gave 5 shapes, but 3 later"):
        stored[:5]


@pytest.mark.parametrize(
    ("blocks", "error", "words"),
    [
        ([make_shapes(3, 6), make_shapes(3, 5)], CoordinateCountError, "5 coordinates"),
        (lambda: [make_shapes(3, 6), make_shapes(3, 5)], CoordinateCountError, "block 1 of"),
        (lambda: iter(()), EmptySetError, "no block"),
        ([np.empty((0, 4), complex)], EmptySetError, "empty blocks"),
        (lambda: [np.ones((3, 4))], ShapeInputError, "block 0 of .* is a real array"),
        ("text", ArrayTypeError, "numbers"),
        ({"a": 1}, ArrayTypeError, "numbers"),
        (iter([make_shapes()]), ArrayTypeError, "only once"),
    ],
)
def test_what_is_not_a_set_of_shapes_is_refused(blocks, error, words):
    with pytest.raises(error, match=words):
        sx.ShapeSet(blocks)
    with pytest.raises(error):
        sx.mean_shape(blocks)


def test_a_single_shape_in_a_file_is_a_single_shape(tmp_path):
    X = make_shapes(2)
    single = as_memmap(X[0], tmp_path)
    assert sx.ShapeSet(single).shape == (1, 6)
    assert sx.distance(sx.mean_shape(single), X[0]) < 1e-7
    assert len(sx.encode(single, X, 1)) == 1


def test_a_chunk_is_unpacked_once_in_a_pass():
    rows = np.arange(46.0).reshape(23, 2) + 0j
    array = Recorder(rows, 5)
    stored = sx.ShapeSet(array)
    array.n_rows = 0
    np.testing.assert_array_equal(np.concatenate([block.configurations for block in stored.blocks(3)]), rows)
    assert array.n_rows == len(rows)


def test_random_batches_unpack_every_chunk_once():
    files = [Recorder(part, 5000) for part in np.split(make_shapes(30000, 4), 3)]
    totals = []
    for n_epochs in (1, 2):
        n_before = sum(file.n_rows for file in files)
        sx.ShapeDictionary(3, 1, coder="ormp", batch_size=1000, max_iter=n_epochs, tol=0, random_state=0).fit(files)
        totals.append(sum(file.n_rows for file in files) - n_before)
    assert totals[1] - totals[0] == 30000
