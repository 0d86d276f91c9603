"""Properties that every space has."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given

import shapelex as sx
from shapelex.exceptions import (
    CollapsedShapeError,
    NonFiniteError,
    ShapeInputError,
    SpaceError,
    UndeterminedFitError,
    UnsupportedBySpaceError,
)
from tests import oracles, strategies
from tests.conftest import ALL_SPACES, FOURIER, custom_space


class TestProduct:
    def test_gram_agrees_with_quadrature(self, curve_space):
        np.testing.assert_allclose(curve_space.gram, oracles.gram_by_quadrature(curve_space), rtol=0, atol=1e-13)

    def test_shift_is_the_constant_curve_of_norm_one(self, curve_space):
        constant = curve_space.shift + 0j
        assert curve_space.norm(constant) == pytest.approx(1, abs=1e-14)
        np.testing.assert_allclose(curve_space.sample(constant, curve_space.parameters(31)), 1, atol=1e-12)
        assert curve_space.sample(constant, []).shape == (0,)

    @pytest.mark.parametrize("n_points", [8, 40, 200])
    def test_closed_cubic_entries(self, n_points):
        gram = sx.BSpline(n_points).gram
        expected = np.zeros(n_points)
        expected[:4] = np.array([151 / 315, 397 / 1680, 1 / 42, 1 / 5040]) / n_points
        expected[-3:] = expected[3:0:-1]
        for row in range(n_points):
            np.testing.assert_allclose(gram[row], np.roll(expected, row), rtol=4e-16)

    @given(strategies.stacks(2))
    def test_inner_is_the_matrix_product(self, stack):
        space, (z, w) = stack
        assert space.inner(z, w) == pytest.approx(z.conj() @ space.gram @ w, rel=1e-10, abs=1e-12)
        assert space.norm(z) ** 2 == pytest.approx((z.conj() @ space.gram @ z).real, rel=1e-10)

    def test_inner_broadcasts(self, space):
        Z = strategies.random_configurations(space, 4, 20)
        np.testing.assert_allclose(space.inner(Z, Z[1]), [space.inner(z, Z[1]) for z in Z])
        with pytest.raises(ShapeInputError, match=r"Z and W must have the same number of shapes.*4 and 3"):
            space.inner(Z, Z[:3])


class TestPreshape:
    @given(strategies.stacks())
    def test_is_centered_and_of_norm_one(self, stack):
        space, Z = stack
        preshapes = space.preshape(Z)
        np.testing.assert_allclose(space.norm(preshapes), 1, atol=1e-13)
        np.testing.assert_allclose(space.center(preshapes), 0, atol=1e-13)
        np.testing.assert_allclose(preshapes, [oracles.preshape(z, space) for z in Z], rtol=0, atol=1e-11)
        np.testing.assert_allclose(space.centered(Z) + space.center(Z)[:, None] * space.shift, Z, atol=1e-11)

    def test_far_from_the_origin(self, space):
        z = strategies.random_configurations(space, 1, 20)[0]
        far = z + 1e9 * (np.pi + 1j) * space.shift
        preshape = space.preshape(far)
        assert abs(space.center(preshape)) < 1e-14
        np.testing.assert_allclose(preshape, space.preshape(z), atol=1e-5)
        np.testing.assert_allclose(space.whitened_preshapes(far)[0], space.whiten(preshape), atol=1e-12)

    def test_collapse_is_a_matter_of_rounding(self):
        space = sx.Landmarks(4)
        z = np.array([0, 1, 1j, -2 + 1j])
        space.preshape(1e-12 * z + 1)
        for seed in range(20):
            with pytest.raises(CollapsedShapeError):
                space.preshape(np.full(4, np.random.default_rng(seed).normal() * 1e3 * (1 + 1j)) * (1 + 1e-16 * z))

    def test_collapsed_rows_are_named(self, space):
        Z = strategies.random_configurations(space, 8, 20)
        Z[[2, 5]] = np.outer([3 + 2j, 1e5j], space.shift)
        for method in (space.preshape, space.whitened_preshapes):
            with pytest.raises(CollapsedShapeError, match="Z has collapsed shapes in rows 2, 5:"):
                method(Z)
        with pytest.raises(CollapsedShapeError, match="row 0:"):
            space.preshape(0 * Z[0])


class TestWhitening:
    @given(strategies.stacks())
    def test_product_becomes_plain(self, stack):
        space, Z = stack
        rows, centered = space.whiten(Z), space.centered(Z)
        expected = centered.conj() @ space.gram @ centered.T
        np.testing.assert_allclose(rows.conj() @ rows.T, expected, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_allclose(space.unwhiten(rows), centered, atol=1e-11)
        np.testing.assert_allclose(space.whitened_preshapes(Z), space.whiten(space.preshape(Z)), atol=1e-12)

    def test_stacks_and_precision(self, space, rng):
        Z = rng.normal(size=(3, space.n_coordinates)) + 1j
        for name in ("centered", "preshape", "whiten", "unwhiten", "norm", "center", "whitened_preshapes"):
            method = getattr(space, name)
            before, expected = Z.copy(), method(Z)
            one = method(Z[1])[0] if name == "whitened_preshapes" else method(Z[1])
            np.testing.assert_allclose(one, expected[1], rtol=1e-12, atol=1e-14)
            assert expected.flags.c_contiguous
            expected[...] = 0
            np.testing.assert_array_equal(Z, before)
            single = method(Z.astype(np.complex64))
            assert single.dtype == (np.float32 if name == "norm" else np.complex64)
            np.testing.assert_allclose(single, method(Z), rtol=1e-4, atol=1e-4)


class TestCurves:
    def test_basis_agrees_with_its_definition(self, curve_space):
        functions, _ = oracles.basis_functions(curve_space)
        t = np.concatenate([np.linspace(0, 1, 21)[:-1], [0.333, 0.999]])
        expected = np.array([[f(s) for f in functions] for s in t])
        np.testing.assert_allclose(curve_space.basis(t), expected, atol=1e-13)

    def test_fit_gives_back_sampled_curves(self, drawn_space):
        space, Z = drawn_space, strategies.random_configurations(drawn_space, 4, 20)
        t = space.parameters(5 * space.n_coordinates)
        points = space.sample(Z, t)
        np.testing.assert_allclose(space.fit(points, t), Z, atol=1e-11)
        np.testing.assert_allclose(space.fit(points, np.tile(t, (4, 1))), Z, atol=1e-11)
        np.testing.assert_allclose(space.fit(points[0], t), Z[0], atol=1e-11)
        np.testing.assert_allclose(space.fit(sx.to_points(points), t), Z, atol=1e-11)

    @pytest.mark.parametrize("space", [sx.BSpline(12), sx.HermiteSpline(8, closed=True), sx.BasisSpace])
    def test_fit_by_arc_length_finds_a_circle(self, space):
        if space is sx.BasisSpace:
            space = sx.BasisSpace([np.ones_like, lambda t: np.exp(2j * np.pi * t), lambda t: np.exp(-2j * np.pi * t)])
        uneven = np.sort(np.random.default_rng(0).uniform(0, 1, 2000))
        circle = np.exp(2j * np.pi * uneven)
        fitted = space.sample(space.fit(circle), np.linspace(0, 1, 77))
        np.testing.assert_allclose(np.abs(fitted), 1, atol=2e-3)

    def test_fit_by_arc_length_runs_from_end_to_end(self):
        space, at = sx.BSpline(6, closed=False), np.array([0, 0.25, 0.5, 1])
        fitted = space.fit((1 + 2j) * np.linspace(0, 1, 400) ** 3)
        np.testing.assert_allclose(space.sample(fitted, at), (1 + 2j) * at, atol=1e-10)

    def test_fit_refuses_what_it_cannot_determine(self):
        space = sx.BSpline(10)
        with pytest.raises(UndeterminedFitError, match="9 points per curve"):
            space.fit(np.exp(1j * np.arange(9)))
        outlines = np.exp(2j * np.pi * np.linspace(0, 1, 50, endpoint=False)) * np.ones((3, 1))
        outlines[2] = np.where(np.arange(50) < 25, np.linspace(0, 0.01, 50), 1 + np.linspace(0, 0.01, 50))
        with pytest.raises(UndeterminedFitError, match="undetermined in row 2:"):
            space.fit(outlines)
        with pytest.raises(CollapsedShapeError, match="row 1"):
            space.fit(np.array([outlines[0], 0 * outlines[0] + 3]))
        nearly = np.concatenate([np.linspace(0, 0.5, 60), [0.5 + 1e-13]])
        with pytest.raises(UndeterminedFitError, match="all rows"):
            space.fit(np.exp(2j * np.pi * nearly), nearly)

    @pytest.mark.parametrize(
        ("t", "error", "words"),
        [
            (np.linspace(0, 1, 49), ShapeInputError, "one real parameter for each of the 50 points"),
            (np.linspace(0, 1, 50) + 0j, ShapeInputError, "got complex128"),
            (np.where(np.arange(150) == 54, np.nan, 0.5).reshape(3, 50), NonFiniteError, "parameter 54"),
            (np.ma.masked_array(np.linspace(0, 1, 50), mask=np.arange(50) > 40), NonFiniteError, "t has masked"),
        ],
    )
    def test_fit_checks_its_parameters(self, t, error, words):
        with pytest.raises(error, match=words):
            sx.BSpline(10).fit(np.exp(2j * np.pi * np.arange(50) / 50) * np.ones((3, 1)), t)

    def test_fit_far_away_of_many_points_in_single_precision(self):
        t = np.linspace(0, 1, 5000, endpoint=False)
        circle = (3 * np.exp(2j * np.pi * t) + 2000).astype(np.complex64)
        fitted = sx.BSpline(8).fit(circle)
        assert fitted.dtype == np.complex64
        np.testing.assert_allclose(np.abs(sx.BSpline(8).sample(fitted, t[::50]) - 2000), 3, atol=0.02)

    def test_fits_of_many_curves_agree_with_single_ones(self, rng):
        space = sx.HermiteSpline(4, closed=True)
        points = np.exp(2j * np.pi * np.linspace(0, 1, 500, endpoint=False)) + 0.1 * rng.normal(size=(1200, 500))
        np.testing.assert_allclose(space.fit(points)[[3, 1150]], space.fit(points[[3, 1150]]), rtol=1e-12)

    def test_open_splines_meet_their_end_points_and_closed_ones_go_round(self):
        z = strategies.random_configurations(sx.BSpline(7), 1, 20)[0]
        np.testing.assert_allclose(sx.BSpline(7, closed=False).sample(z, [0, 1]), z[[0, -1]], atol=1e-14)
        turns = sx.BSpline(7).sample(z, [0.2, 1.2, -0.8])
        np.testing.assert_allclose(turns, turns[0], atol=1e-13)


SQUARE = sx.Landmarks(4, closed=True)
ROLLABLE = [space for space in ALL_SPACES if space.closed and hasattr(space, "n_points")]


class TestStartPoint:
    @pytest.mark.parametrize("space", ROLLABLE, ids=repr)
    def test_roll_moves_along_the_curve(self, space):
        Z = strategies.random_configurations(space, 5, 20)
        t = np.linspace(0, 1, 40)
        shifts = np.array([0, 1, -2, 3, 25])
        expected = [space.sample(z, t + s / space.n_points) for z, s in zip(Z, shifts, strict=True)]
        np.testing.assert_allclose(space.sample(space.roll(Z, shifts), t), expected, atol=1e-12)
        np.testing.assert_array_equal(space.roll(Z[1], 1), space.roll(Z, shifts)[1])
        np.testing.assert_allclose(space.norm(space.roll(Z, shifts)), space.norm(Z), rtol=1e-13)

    def test_reverse_runs_the_other_way(self, space):
        if type(space) is sx.CustomSpace:
            with pytest.raises(UnsupportedBySpaceError, match="does not know its points"):
                space.reverse(space.shift + 0j)
            return
        Z = strategies.random_configurations(space, 3, 20)
        t = np.linspace(0, 1, 40)
        np.testing.assert_allclose(space.sample(space.reverse(Z), t), space.sample(Z, 1 - t), atol=1e-12)
        np.testing.assert_allclose(space.reverse(space.reverse(Z)), Z, atol=1e-12)
        np.testing.assert_allclose(space.reverse(Z[1]), space.reverse(Z)[1], atol=1e-13)

    def test_basis_space_rolls_to_a_parameter_that_keeps_its_span(self):
        space = sx.BasisSpace(FOURIER)
        z = strategies.random_configurations(space, 1, 20)[0]
        t = np.linspace(0, 1, 30)
        np.testing.assert_allclose(space.sample(space.roll(z, 0.3), t), space.sample(z, t + 0.3), atol=1e-12)
        hats = sx.BSpline(4, degree=1)
        space = sx.BasisSpace(
            [lambda t, n=n: hats.basis(t)[:, n] for n in range(4)], breakpoints=[0.25, 0.5, 0.75], closed=True
        )
        z = np.array([1, 2, 3j, 4])
        np.testing.assert_allclose(space.roll(z, 0.25), hats.roll(z, 1), atol=1e-12)
        with pytest.raises(UnsupportedBySpaceError, match=r"roll by 0\.1 takes curves out of the span"):
            space.roll(z, 0.1)

    def test_open_spaces_do_not_roll(self, space):
        if not space.closed:
            with pytest.raises(UnsupportedBySpaceError, match="is open"):
                space.roll(space.shift + 0j, 1)

    def test_shifts_of_any_integer_type(self):
        np.testing.assert_array_equal(SQUARE.roll(np.arange(4) + 0j, np.uint64(1)), [1, 2, 3, 0])


class TestValues:
    def test_equal_arguments_make_equal_spaces(self):
        assert sx.Landmarks(4) == sx.Landmarks(4) != sx.Landmarks(4, closed=True)
        assert sx.BSpline(5) != sx.BSpline(5, degree=2)
        assert hash(sx.HermiteSpline(4)) == hash(sx.HermiteSpline(4))
        assert custom_space(seed=1) == custom_space(seed=1) != custom_space(seed=2)
        assert hash(custom_space(seed=1)) == hash(custom_space(seed=1))
        assert sx.Landmarks(4) != sx.HermiteSpline(2)
        assert len({sx.CustomSpace(np.eye(3), np.ones(3)), sx.CustomSpace(np.eye(3) + 0j, np.ones(3) - 0j)}) == 1
        one, t = np.ones_like, np.sin
        assert sx.BasisSpace([one, t]) == sx.BasisSpace([one, t]) != sx.BasisSpace([t, one])
        assert len({sx.BasisSpace([one, t]), sx.BasisSpace([one, t])}) == 1

    def test_pickle(self):
        for space in (sx.Landmarks(4), sx.BSpline(5), sx.HermiteSpline(4, closed=True), custom_space()):
            _ = space.gram
            for copied in (space, pickle.loads(pickle.dumps(space)), copy.deepcopy(space)):
                assert copied == space
                np.testing.assert_array_equal(copied.gram, space.gram)
                assert not copied.gram.flags.writeable
                assert not copied.shift.flags.writeable

    @pytest.mark.parametrize(
        ("make", "error", "message"),
        [
            (lambda: SQUARE.roll(np.ones((2, 4), complex), [1, 2, 3]), ShapeInputError, "each of the 2 shapes"),
            (lambda: SQUARE.roll(np.ones((2, 4), complex), 0.5), ShapeInputError, "s must be an integer"),
            (lambda: sx.HermiteSpline(3).basis([-0.1, 1]), ShapeInputError, "between 0 and 1 .* got -0.1 to 1"),
            (lambda: sx.HermiteSpline(3).basis([np.nan]), ShapeInputError, "finite"),
            (lambda: sx.Landmarks(1), ValueError, "n_points must be at least 2, got 1"),
            (lambda: sx.BSpline(2), ValueError, "closed B-spline must be at least 3, got 2"),
            (lambda: sx.BSpline(3, closed=False), SpaceError, "degree 3 must be at least 4, got 3"),
            (lambda: sx.BSpline(5, degree=0), ValueError, "degree must be at least 1, got 0"),
            (lambda: sx.BSpline(60, degree=51), SpaceError, "degree must be at most 50"),
            (lambda: sx.HermiteSpline(1), ValueError, "n_points must be at least 2, got 1"),
            (lambda: sx.CustomSpace(np.ones((2, 3)), [1, 1]), SpaceError, "square matrix.*\\(2, 3\\)"),
            (lambda: sx.CustomSpace([[1, 2], [0, 1]], [1, 1]), SpaceError, "Hermitian"),
            (lambda: sx.CustomSpace([[1, 2], [2, 1]], [1, 1]), SpaceError, "positive-definite"),
            (lambda: sx.CustomSpace(np.zeros((2, 2)), [1, 1]), SpaceError, "positive-definite"),
            (lambda: sx.CustomSpace([[1, np.nan], [np.nan, 1]], [1, 1]), SpaceError, "finite"),
            (lambda: sx.CustomSpace(np.eye(2), [0, 0]), SpaceError, "not zero"),
            (lambda: sx.CustomSpace(np.eye(2), [1, 1, 1]), SpaceError, "shape \\(2,\\)"),
            (lambda: custom_space().sample(np.ones(5, complex), [0.5]), UnsupportedBySpaceError, "no basis functions"),
            (lambda: sx.BasisSpace([]), SpaceError, "at least two"),
            (lambda: sx.BasisSpace([np.ones_like]), SpaceError, "at least two"),
            (lambda: sx.BasisSpace([np.sin, np.cos]), SpaceError, "constant"),
            (lambda: sx.BasisSpace([np.ones_like, np.sin, np.sin]), SpaceError, "linearly dependent"),
            (lambda: sx.BasisSpace([np.ones_like, lambda t: np.abs(t - 0.3)]), SpaceError, "breakpoints"),
            (lambda: sx.BasisSpace([np.ones_like, lambda t: t[:3]]), SpaceError, "must have shape"),
            (lambda: sx.BasisSpace([np.ones_like, lambda t: t + np.inf]), SpaceError, "functions\\[1\\].* finite"),
            (lambda: sx.BasisSpace([np.ones_like, np.sin], [2.0]), SpaceError, "between 0 and 1"),
            (lambda: sx.Landmarks(3.0), TypeError, "n_points must be an integer"),
            (lambda: sx.Landmarks("3"), TypeError, "n_points must be an integer"),
            (lambda: sx.Landmarks(True), TypeError, "n_points must be an integer"),
            (lambda: sx.BSpline(7, closed="no"), TypeError, "closed must be True or False"),
            (lambda: sx.HermiteSpline(6, 3), TypeError, "closed must be True or False"),
            (lambda: sx.Landmarks(6, np.array([1, 0])), TypeError, "closed must be True or False"),
            (lambda: sx.CustomSpace(np.eye(3), np.ones(3), closed=1), TypeError, "closed must be True or False"),
            (
                lambda: sx.CustomSpace(np.eye(3), np.ones(3), basis=lambda t: np.ones((len(t), 2))).basis([0, 0]),
                ShapeInputError,
                "basis\\(t\\) must have shape \\(2, 3\\), got \\(2, 2\\)",
            ),
        ],
    )
    def test_what_is_refused(self, make, error, message):
        with pytest.raises(error, match=message):
            make()

    @pytest.mark.parametrize(
        "functions",
        [[np.ones_like, lambda t: 1e-6 * t, lambda t: 1e6 * t**2], [lambda t, n=n: t**n for n in range(9)]],
        ids=["of very different size", "nearly dependent"],
    )
    def test_shift_of_monomials_is_accurate(self, functions):
        np.testing.assert_allclose(sx.BasisSpace(functions).shift, np.eye(len(functions))[0], atol=1e-9)

    def test_user_defined_spaces_are_immutable(self):
        space = sx.BasisSpace([np.ones_like, np.sin], [0.5])
        with pytest.raises(ValueError, match="read-only"):
            space.breakpoints[1] = 0.7
        for immutable in (space, custom_space()):
            with pytest.raises(AttributeError):
                immutable.closed = True

    def test_basis_space_finds_bends_at_breakpoints(self):
        space = sx.BasisSpace([np.ones_like, lambda t: np.abs(t - 0.3)], breakpoints=[0.3])
        assert space.gram[1, 1] == pytest.approx((0.3**3 + 0.7**3) / 3, rel=1e-14)
        assert not space.closed

    def test_custom_space_with_a_basis_has_curves(self):
        hermite = sx.HermiteSpline(4)
        space = sx.CustomSpace(hermite.gram, hermite.shift, basis=hermite.basis)
        z = strategies.random_configurations(space, 1, 20)[0]
        t = np.linspace(0, 1, 50)
        np.testing.assert_allclose(space.sample(z, t), hermite.sample(z, t))
        np.testing.assert_allclose(space.fit(space.sample(z, t), t), z, atol=1e-11)
