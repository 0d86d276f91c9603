"""Codes that follow a motion, of shapes in the order of their series and of time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shapelex as sx
from shapelex.exceptions import EmptySetError, ParameterError, ParameterTypeError, SearchTooLargeError
from shapelex.sequences import encode_sequence


def sets_of(codes):
    return [frozenset(row[row >= 0].tolist()) for row in codes.support]


def test_no_cost_is_coding_frame_by_frame_and_a_large_one_keeps_one_set_per_series(worms, model):
    plain, found = model.encode(worms), encode_sequence(worms, model, switch_cost=0)
    np.testing.assert_allclose(found.errors, model.errors(worms), atol=1e-9)
    assert sets_of(found.codes) == sets_of(plain)
    np.testing.assert_allclose(found.codes.toarray(), plain.toarray(), atol=1e-9)
    still = encode_sequence(worms, model, switch_cost=1e3)
    assert still.flicker == 0
    for series in range(3):
        assert len(set(sets_of(still.codes[worms.sequence == series]))) == 1


@given(st.lists(st.floats(1e-5, 1e-1), min_size=2, max_size=2).map(sorted))
def test_higher_cost_means_less_cost_of_changes_and_more_error(worms, model, costs):
    low, high = (encode_sequence(worms, model, switch_cost=cost) for cost in costs)
    assert low.rmse <= high.rmse + 1e-12
    priced = encode_sequence(worms, model, switch_cost=costs[0], weight_penalty=0.01)
    assert np.linalg.norm(priced.codes.coefs) < np.linalg.norm(low.codes.coefs)
    assert priced.rmse >= low.rmse


def test_whole_objective_is_no_larger_than_that_of_other_paths(worms, model, result):
    def objective(found, cost):
        order, sets = found.time_order.order, sets_of(found.codes)
        total = float((found.errors**2).sum())
        for before, after, step in zip(order, order[1:], found.time_order.steps[1:], strict=False):
            exchanged = len(sets[after] - sets[before])
            total += cost / step * (1 + exchanged) / 2 if exchanged and step > 0 else 0
        return total

    others = [encode_sequence(worms, model, switch_cost=cost) for cost in (0, 5e-4, 1e-2)]
    assert all(objective(result, 2e-3) <= objective(other, 2e-3) + 1e-12 for other in others)


def test_series_are_independent_and_rows_in_any_order(worms, model, result):
    for series in range(3):
        rows = worms.sequence == series
        alone = encode_sequence(worms[np.flatnonzero(rows)], model, switch_cost=2e-3)
        np.testing.assert_array_equal(alone.codes.toarray(), result.codes.toarray()[rows])
        np.testing.assert_allclose(alone.phases, result.phases[rows], atol=1e-9)
    order = np.random.default_rng(0).permutation(len(worms))
    found = encode_sequence(worms[order], model, switch_cost=2e-3)
    np.testing.assert_allclose(found.codes.toarray(), result.codes.toarray()[order], atol=1e-9)
    assert found.flicker == result.flicker
    assert any("not in the order of their frames" in remark for remark in found.remarks)


def test_files_streams_and_dask_arrays_give_the_codes_of_memory(worms, model, result, tmp_path):
    rows, timing = np.asarray(worms), {"frames": worms.metadata["frame"], "sequence": worms.sequence}
    np.save(tmp_path / "worms.npy", rows)
    sx.write(worms, tmp_path / "worms.zarr")
    for X, told in (
        (np.load(tmp_path / "worms.npy", mmap_mode="r"), timing),
        (lambda: iter([rows[:70], rows[70:]]), timing),
        (sx.open_shapes(tmp_path / "worms.zarr"), {}),
        (pytest.importorskip("dask.array").from_array(rows, chunks=(50, 20)), timing),
    ):
        found = encode_sequence(X, model, switch_cost=2e-3, **told)
        assert found.n_series == 3
        np.testing.assert_allclose(found.codes.toarray(), result.codes.toarray(), atol=1e-12)
        np.testing.assert_allclose(found.phases, result.phases, atol=1e-9)
    backwards = {name: column[::-1] for name, column in timing.items()}
    with pytest.raises(ValueError, match="must be in the order of series and time"):
        encode_sequence(lambda: iter([rows[::-1]]), model, switch_cost=2e-3, **backwards)


def test_changes_are_cheaper_after_a_gap(model):
    worms = np.asarray(sx.datasets.make_worms(200, 1, random_state=3))
    rows = worms[[20, 20, 20, 32]]
    sets = sets_of(model.encode(rows))
    assert sets[2] != sets[3]
    flips = []
    for gap in (2, 5, 10, 1000):
        # The usual step is 1.
        found = encode_sequence(rows, model, frames=[0, 1, 2, 2 + gap], switch_cost=0.5)
        flips.append(sets_of(found.codes)[3] != sets_of(found.codes)[2])
    assert flips == sorted(flips)
    assert flips[-1]
    assert not flips[0]


def test_frames_with_missing_coordinates_are_gaps(worms, model):
    rows, lost = np.asarray(worms)[:60].copy(), [5, 6, 40, 50]
    rows[lost[:3]] = np.nan
    rows[50, 3] = np.nan
    found = encode_sequence(rows, model, switch_cost=2e-3)
    assert np.flatnonzero(~found.is_coded).tolist() == lost
    assert (found.codes.support[lost] == -1).all()
    assert np.isnan(found.rotations[5])
    assert np.isnan(found.phases[5]).all()
    assert "4 of 60 frames have missing coordinates" in found.remarks[0]
    kept = np.setdiff1d(np.arange(60), lost)
    alone = encode_sequence(rows[kept], model, frames=kept, switch_cost=2e-3)
    np.testing.assert_array_equal(found.codes.toarray()[kept], alone.codes.toarray())


@pytest.mark.parametrize("switch_cost", [None, 0.01])
def test_single_frames(worms, model, switch_cost):
    found = encode_sequence(np.asarray(worms)[:3], model, sequence=[0, 1, -1], switch_cost=switch_cost)
    np.testing.assert_allclose(found.errors, model.errors(np.asarray(worms)[:3]), atol=1e-9)
    assert np.isnan(found.flicker)
    assert found.n_series == 3
    if switch_cost is None:
        assert found.switch_cost == 0
        assert "no two frames follow each other" in found.remarks[0]


def test_chosen_cost_lowers_flicker_and_is_told(worms, model):
    found = encode_sequence(worms, model)
    assert found.switch_cost > 0
    assert found.flicker < encode_sequence(worms, model, switch_cost=0).flicker
    table = found.cost_curve
    chosen = table[table["switch_cost"] == found.switch_cost].iloc[0]
    assert chosen["held_out_rmse"] <= 1.01 * table["held_out_rmse"].min()
    assert chosen["flicker"] == pytest.approx(found.flicker)
    assert chosen["rmse"] == pytest.approx(found.rmse, abs=1e-9)
    later = table[table["switch_cost"] > found.switch_cost]["held_out_rmse"]
    assert (later > 1.01 * table["held_out_rmse"].min()).all()
    assert f"switch_cost={found.switch_cost:.3g} was chosen" in found.remarks[0]


def test_phases_are_continuous_and_do_not_depend_on_pose(worms, model, result):
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, len(worms))
    moved = worms.replace(configurations=3 * np.asarray(worms) * np.exp(1j * angles)[:, None] + 5)
    found = encode_sequence(moved, model, switch_cost=2e-3)
    turns = (found.phases - result.phases) / (2 * np.pi)
    assert np.nanmax(np.abs(turns - np.round(turns))) < 1e-6
    np.testing.assert_allclose(found.weights, result.weights, atol=1e-8)
    # As long as an atom is used.
    steps = np.diff(result.phases, axis=0)[np.diff(result.sequence) == 0]
    assert np.nanmax(np.abs(steps)) <= np.pi + 1e-9
    # Tracked frames lie closest to the frame before.
    preshapes = worms.space.whitened_preshapes(worms) * np.exp(-1j * result.rotations)[:, None]
    products = np.vecdot(preshapes[:-1], preshapes[1:])[np.diff(worms.sequence) == 0]
    assert np.abs(products.imag).max() < 1e-9
    assert products.real.min() > 0


def test_times_and_rates(worms, model, result):
    found = encode_sequence(worms, model, switch_cost=2e-3, fps=25)
    assert found.fps == 25
    assert found.flicker_rate == pytest.approx(25 * found.flicker)
    np.testing.assert_allclose(found.times, worms.metadata["frame"] / 25)
    timed = worms.replace(metadata={"frame": worms.metadata["frame"], "time": worms.metadata["frame"] * 0.1})
    by_column = encode_sequence(timed, model, switch_cost=2e-3)
    assert by_column.fps == pytest.approx(10)
    assert by_column.times.tolist() == timed.metadata["time"].tolist()
    assert by_column.codes == found.codes
    rows = np.asarray(worms)[:3]
    for frames, times in (([0.0, 0.1, 0.2], [0.0, 0.1, 0.2]), ([0, 1, 2], None)):
        found = encode_sequence(rows, model, frames=frames, switch_cost=1e-3).times
        assert found is times or found.tolist() == times


@pytest.mark.parametrize(
    ("name", "known", "lost"),
    [
        ("frame", [4, 6, 5, 9], -1),
        ("time", [0.4, 0.6, 0.5, 0.9], np.nan),
        ("time", ["0.4", "0.6", "0.5", "0.9"], ""),
        ("time", ["0.4", "0.6", "0.5", "0.9"], "lost"),
    ],
)
def test_shapes_without_a_time_are_left_out_of_their_series_by_name(worms, model, tmp_path, name, known, lost):
    times = [*known[:2], lost, *known[2:]]
    shapes = worms[:5].replace(ids=list("abcde"), sequence=np.zeros(5, dtype=int), metadata={name: times})
    found = encode_sequence(shapes, model, switch_cost=1e-3)
    (remark,) = [one for one in found.remarks if "left out of its series: c." in one]
    assert "1 shape has no time" in remark
    assert found.sequence.tolist() == [0, 0, -1, 0, 0]
    np.testing.assert_array_equal(found.frames[[0, 1, 3, 4]], np.asarray(known, dtype=float))
    whole = encode_sequence(shapes[[0, 1, 3, 4]].replace(metadata={name: known}), model, switch_cost=1e-3)
    assert found.codes[[0, 1, 3, 4]] == whole.codes
    assert sx.sequences.register_sequence(shapes).remarks[-1] == remark
    page = sx.report.write_report(model, shapes, tmp_path / "worms.html").read_text()
    assert remark in page
    # A column without any number, such as the time of day in words, is no time.
    morning = shapes.replace(metadata={"time": ["dawn"] * 5})
    assert not any("no time" in one for one in encode_sequence(morning, model, switch_cost=1e-3).remarks)


def test_table_and_reconstructions(worms, result):
    table = result.to_dataframe()
    assert len(table) == len(worms)
    assert list(table.columns[:6]) == ["sequence", "frame", "error", "switch", "rotation", "modulus_a0"]
    np.testing.assert_array_equal(table["modulus_a2"].notna(), result.codes.toarray()[:, 2] != 0)
    assert table["switch"].sum() / (len(worms) - 3) == pytest.approx(result.flicker)
    assert result.flicker_rate is None
    assert "flicker" in repr(result)
    errors = sx.distance(np.asarray(worms), result.reconstruct(), space=worms.space)
    np.testing.assert_allclose(errors, result.errors, atol=1e-2)
    tracked = result.reconstruct(tracked=True)
    np.testing.assert_allclose(tracked * np.exp(1j * result.rotations)[:, None], result.reconstruct(), atol=1e-9)


def test_wrong_arguments(worms, model):
    large = sx.ShapeDictionary(30, 6, coder="ormp", n_swaps=0, max_iter=1, tol=1, random_state=0).fit(worms)
    for X, used, options, error, words in (
        (worms, "model", {}, ParameterTypeError, "must be a fitted dictionary"),
        (worms, model, {"switch_cost": -1}, ParameterError, "switch_cost"),
        (worms, large, {"switch_cost": 0.1}, SearchTooLargeError, "at most 20000 supports"),
        (worms[:3], model, {"frames": [0, 0, 1]}, ParameterError, "rows 0 and 1 both have frame 0"),
        (worms[:3], model, {"frames": [0.0, np.nan, 1.0]}, ParameterError, "finite.*row 1"),
        (worms[:3], model, {"frames": ["a", "b", "c"]}, ParameterError, "numbers"),
        (np.full((3, 20), np.nan + 0j), model, {}, EmptySetError, "no frame without missing coordinates"),
    ):
        with pytest.raises(error, match=words):
            encode_sequence(np.asarray(X), used, **options)


@pytest.mark.realdata
def test_flicker_of_recorded_worms(data_folder):
    with np.load(data_folder / "celegans_yemini_cb4853_midlines_20.npz") as file:
        points, frames = sx.from_points(file["points"]), file["frame"]
    model = sx.ShapeDictionary(8, 3, random_state=1).fit(points)
    plain, smooth = (encode_sequence(points, model, frames=frames, switch_cost=cost) for cost in (0, 8e-4))
    assert smooth.flicker < plain.flicker / 2.5
    assert smooth.rmse < 1.12 * plain.rmse


@pytest.mark.parametrize(
    ("frames", "sequence", "order", "steps"),
    [
        (None, None, [0, 1, 2, 3], [0, 1, 1, 1]),
        ([2, 0, 1, 3], None, [1, 2, 0, 3], [0, 1, 1, 1]),
        ([0, 0, 10, 10, 40, 20], list("bababa"), [0, 2, 4, 1, 3, 5], [0, 1, 3, 0, 1, 1]),
        # Shapes of no series stand for themselves.
        (None, [-1, 3, -1, 3], [0, 1, 3, 2], [0, 0, 1, 0]),
        ([0, 1, 0, 1], [5, 5, 7, 7], [0, 1, 2, 3], [0, 1, 0, 1]),
    ],
)
def test_orders(worms, model, frames, sequence, order, steps):
    found = encode_sequence(np.asarray(worms)[: len(order)], model, frames=frames, sequence=sequence, switch_cost=1e-3)
    assert found.time_order.order.tolist() == order
    assert found.time_order.steps.tolist() == steps
    assert found.time_order.is_next.tolist() == [step == 1 for step in steps]
    is_unsorted = frames is not None and sequence is None
    assert any("not in the order of their frames" in remark for remark in found.remarks) == is_unsorted
