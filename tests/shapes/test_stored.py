import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import ArrayTypeError, CoordinateCountError, EmptySetError, ShapeInputError
from shapelex.learning.sampling import shuffled_batches
from shapelex.shapes.collection import ArrayShapes
from shapelex.shapes.opening import as_shapes
from shapelex.shapes.stored import FileShapes


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
    """An array on disk that remembers the most rows that were asked for at once."""

    chunks = None

    def __init__(self, X):
        self._X = X
        self.shape, self.dtype = X.shape, X.dtype
        self.most_rows = 0

    def __getitem__(self, stretch):
        rows = self._X[stretch]
        self.most_rows = max(self.most_rows, len(rows))
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
def test_stretches_are_those_of_the_array(store, dtype):
    X = make_shapes(dtype=dtype)
    stored = as_shapes(store(X))
    assert stored.shape == X.shape
    assert stored.dtype == dtype
    for start, stop in [(0, 50), (0, 1), (2, 45), (49, 50), (10, 12), (0, 30), (35, 60)]:
        np.testing.assert_array_equal(stored[start:stop], X[start:stop])
        assert stored[start:stop].dtype == dtype


def test_real_points_become_complex(store):
    points = np.random.default_rng(1).normal(size=(50, 6, 2)).astype(np.float32)
    stored = as_shapes(store(points))
    assert stored.shape == (50, 6)
    np.testing.assert_array_equal(stored[5:33], sx.from_points(points)[5:33])


def test_blocks_of_a_map_are_arrays_in_memory(tmp_path):
    X = make_shapes()
    stored = as_shapes(as_memmap(X, tmp_path))
    assert isinstance(as_shapes(stored[0:20]), ArrayShapes)
    assert isinstance(as_shapes(stored.take(np.array([3, 8]))), ArrayShapes)
    np.testing.assert_array_equal(stored.take(np.array([3, 8, 49])), X[[3, 8, 49]])


def test_private_maps_keep_what_was_written(tmp_path):
    as_memmap(make_shapes(), tmp_path)
    private = np.load(tmp_path / "shapes.npy", mmap_mode="c")
    private[4] = 7
    assert (as_shapes(private)[4:5] == 7).all()


def test_sets_of_shapes_over_a_map_stay_unread(tmp_path):
    shapes = sx.ShapeSet(as_memmap(make_shapes(), tmp_path), space=sx.BSpline(6))
    stored = as_shapes(shapes)
    assert isinstance(stored, FileShapes)
    assert stored.space == sx.BSpline(6)


def test_two_collections_of_the_same_shapes_are_read_in_any_order(store):
    X = make_shapes()
    first = as_shapes(store(X))
    others = [first.in_space(sx.BSpline(6)), as_shapes(first)]
    for start in range(0, 50, 9):
        np.testing.assert_array_equal(first[start : start + 9], X[start : start + 9])
        for other in (*others, first.in_space(sx.BSpline(6))):
            np.testing.assert_array_equal(other[start : start + 9], X[start : start + 9])


@pytest.mark.parametrize("X", [np.zeros((2, 3), complex), [[1, 2, 3j]], [np.ones(3, complex)], [np.ones((4, 2))]])
def test_arrays_in_memory_are_one_block(X):
    shapes = as_shapes(X)
    assert isinstance(shapes, ArrayShapes)
    assert [len(block) for block in shapes.blocks()] == [len(shapes)]


@pytest.mark.parametrize("X", ["text", {"a": 1}])
def test_what_is_no_set_of_shapes_is_refused(X):
    with pytest.raises(ArrayTypeError):
        as_shapes(X)


def test_what_comes_only_once_is_refused():
    with pytest.raises(ArrayTypeError, match="only once"):
        as_shapes(block for block in [make_shapes()])


def test_blocks_that_change_are_refused():
    sizes = iter([5, 5, 3])
    stored = as_shapes(lambda: [make_shapes(next(sizes))])
    stored[0:5]
    stored._rewind()
    with pytest.raises(ShapeInputError, match="gave 5 shapes at first, but only 3"):
        stored[0:5]


@pytest.mark.parametrize(
    ("blocks", "error", "words"),
    [
        ([make_shapes(3, 6), make_shapes(3, 5)], CoordinateCountError, "5 coordinates"),
        (lambda: [make_shapes(3, 6), make_shapes(3, 5)], CoordinateCountError, "block 1 of X has 5"),
        (lambda: iter(()), EmptySetError, "no block"),
        ([np.empty((0, 4), complex)], EmptySetError, "empty blocks"),
        (lambda: [np.ones((3, 4))], ShapeInputError, "block 0 of X is a real array"),
    ],
)
def test_bad_blocks(blocks, error, words):
    with pytest.raises(error, match=words):
        as_shapes(blocks)


def test_a_single_shape_in_a_file_is_a_single_shape(tmp_path):
    X = make_shapes(2)
    assert as_shapes(as_memmap(X[0], tmp_path)).shape == (1, 6)
    mean = sx.mean_shape(as_memmap(X[0], tmp_path))
    assert sx.distance(mean, X[0]) < 1e-7
    assert len(sx.encode(as_memmap(X[0], tmp_path), X, 1)) == 1


def test_a_chunk_is_unpacked_once_in_a_pass():
    class Chunked:
        """Chunks of five rows, as Zarr has them."""

        def __init__(self, rows):
            self.rows, self.shape, self.dtype, self.chunks = rows, rows.shape, rows.dtype, (5, rows.shape[1])
            self.unpacked = []

        def __getitem__(self, stretch):
            start, stop, _ = stretch.indices(len(self.rows))
            self.unpacked += range(start // 5, (stop - 1) // 5 + 1)
            return self.rows[stretch]

    rows = np.arange(46.0).reshape(23, 2) + 0j
    array = Chunked(rows)
    stored = as_shapes(array)
    array.unpacked.clear()
    np.testing.assert_array_equal(np.concatenate([stored[start : start + 3] for start in range(0, 23, 3)]), rows)
    assert array.unpacked == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(stored[2:19], rows[2:19])


class Chunked(Recorder):
    """An array on disk that counts the rows that were unpacked."""

    chunks = (5000, 4)

    def __init__(self, X):
        super().__init__(X)
        self.n_rows = 0

    def __getitem__(self, stretch):
        rows = super().__getitem__(stretch)
        self.n_rows += len(rows)
        return rows.copy()


def test_chunks_of_listed_files_are_unpacked_once_in_random_batches_and_not_kept():
    X = make_shapes(30000, 4)
    files = [Chunked(part) for part in np.split(X, 3)]
    shapes = as_shapes(files)
    assert shapes.stretches() == [0, 10000, 20000, 30000]
    n_before = sum(file.n_rows for file in files)
    batches = [batch.configurations for batch in shuffled_batches(shapes, 1000, np.random.default_rng(0))]
    assert sum(file.n_rows for file in files) - n_before == len(X)
    np.testing.assert_array_equal(np.sort(np.concatenate(batches), axis=0), np.sort(X, axis=0))
    assert sum(part._chunks._kept is not None for part in shapes._parts) == 1
