import numpy as np

import shapelex as sx
from shapelex.plotting import plot_code, plot_combination
from shapelex.plotting.curves import curve_parameters
from tests.plotting.pictures import drawn, labels, marks

CODE = np.array([0, 0.3j, 0, -0.9 + 0.1j, 0.5])


def _tips(ax):
    return {int(text.get_text()): complex(*text.xy) for text in ax.texts if text.get_gid() == "atom"}


def test_arrows_end_at_the_weights(ax):
    plot_code(CODE, ax=ax)
    assert _tips(ax) == {1: 0.3j, 3: -0.9 + 0.1j, 4: 0.5}
    arrows = [text for text in ax.texts if text.arrow_patch is not None]
    assert sorted(complex(*arrow.xy).real for arrow in arrows) == [-0.9, 0, 0.5]
    assert all(tuple(arrow.xyann) == (0, 0) for arrow in arrows)
    assert ax.get_aspect() == 1


def test_sparse_codes_and_rows_are_codes(ax):
    codes = sx.SparseCodes([[3, 1, 4]], [[-0.9 + 0.1j, 0.3j, 0.5]], n_atoms=5)
    for code in (codes, codes.tocsr(), codes.toarray()):
        ax.clear()
        assert _tips(plot_code(code, ax=ax)) == {1: 0.3j, 3: -0.9 + 0.1j, 4: 0.5}


def test_combination_shows_the_terms_and_their_sum(blobs, ax):
    Z, space = blobs
    atoms = space.preshape(Z[:5])
    codes = sx.encode(Z[7], atoms, 3, space=space)
    plot_combination(codes, atoms, space, original=Z[7], ax=ax)
    weights = codes.toarray()[0]
    used = np.argsort(-np.abs(weights))[:3]
    curves, origins, t = drawn(ax), [complex(mark[0]) for mark in marks(ax)], curve_parameters(space)
    assert len(curves) == 8
    assert len(origins) == 4
    for k, atom in enumerate(used):
        np.testing.assert_allclose(curves[2 * k] - origins[k], space.sample(atoms[atom], t), atol=1e-12)
        np.testing.assert_allclose(
            curves[2 * k + 1] - origins[k], weights[atom] * space.sample(atoms[atom], t), atol=1e-12
        )
    original, total = (curve - origins[3] for curve in curves[6:])
    np.testing.assert_allclose(original, space.sample(space.preshape(Z[7]), t), atol=1e-12)
    np.testing.assert_allclose(total, sum(curves[2 * k + 1] - origins[k] for k in range(3)), atol=1e-12)
    found = labels(ax)
    assert [label for label in found if label in "+="] == ["+", "+", "="]
    error = sx.distance(Z[7], sx.decode(codes, atoms)[0], space=space)
    assert found[-1] == f"sum\nerror {100 * error:.1f} %"
    degrees = np.degrees(np.angle(weights[used[0]]))
    assert found[0] == f"atom {used[0]}\n{abs(weights[used[0]]):.2f}, {degrees:.0f}°".replace("-", "−")
