import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shapelex as sx
from shapelex.estimators.piece_correlations import _responses
from shapelex.exceptions import ParameterError, UnsupportedBySpaceError
from tests import strategies

SPACE = sx.Landmarks(48, closed=True)


def outlines(n_shapes=12, seed=0):
    rng = np.random.default_rng(seed)
    circle = np.exp(2j * np.pi * np.arange(48) / 48)
    waves = circle ** np.array([-3, -2, -1, 2, 3])[:, None]
    return circle + 0.15 * (rng.normal(size=(n_shapes, 5)) + 1j * rng.normal(size=(n_shapes, 5))) @ waves


@pytest.fixture(scope="module")
def fitted():
    return sx.PieceCorrelations(n_atoms=4, lengths=(0.25, 1), random_state=0).fit(outlines())


@pytest.mark.parametrize("length", [4, 9, 24])
def test_responses_are_cosines_with_pieces(length):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(3, 24)) + 1j * rng.normal(size=(3, 24))
    space = sx.Landmarks(length)
    atoms = space.preshape(rng.normal(size=(2, length)) + 1j * rng.normal(size=(2, length)))
    found = _responses(points, atoms)
    for row in range(3):
        for start in range(24):
            piece = np.roll(points[row], -start)[:length]
            slow = np.sqrt(1 - sx.distance(atoms, piece, space=space) ** 2)
            np.testing.assert_allclose(found[row, start], slow, atol=1e-10)


@settings(max_examples=15)
@given(st.integers(0, 47), strategies.phases, st.booleans())
def test_pose_start_point_and_direction_do_not_count(fitted, shift, phase, is_reversed):
    X = outlines()
    moved = 2 * phase * np.roll(X, shift, axis=1) + 3 - 1j
    if is_reversed:
        moved = SPACE.reverse(moved)
    # Shares above thresholds change by whole responses where rounding moves one across.
    np.testing.assert_allclose(fitted.transform(moved), fitted.transform(X), atol=2 / 96)


def test_a_piece_that_is_an_atom_has_the_response_1(fitted):
    names = fitted.get_feature_names_out().tolist()
    features = fitted.transform(fitted.dictionaries_[1].atoms_[:, ::2])
    for atom in range(4):
        assert features[atom, names.index(f"length96_max_atom{atom}")] > 0.99
    assert features.shape[1] == len(names) == 2 * 6 * 4
    assert ((features >= 0) & (features <= 1)).all()


@pytest.mark.parametrize("lengths", [(), (0.01,), (1.5,)])
def test_wrong_lengths_are_refused(lengths):
    with pytest.raises(ParameterError, match="lengths must be shares of the outline between 1/24 and 1"):
        sx.PieceCorrelations(lengths=lengths).fit(outlines())


def test_open_curves_are_refused():
    with pytest.raises(UnsupportedBySpaceError, match="is open"):
        sx.PieceCorrelations(space=sx.Landmarks(48)).fit(outlines())
