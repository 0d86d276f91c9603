"""Calls that cannot be answered: the error names what is wrong."""

import numpy as np
import pytest

import shapelex as sx
from shapelex import statistics as st
from shapelex.exceptions import CodesError, ParameterError, ParameterTypeError, ShapeInputError
from tests.statistics.conftest import make_shapes, mirrored_faces

RNG = np.random.default_rng(20)
GROUPS, CODES = list("ab") * 20, RNG.normal(size=(40, 5)) + 0j
SHAPES = make_shapes(
    RNG, 30, effect=0.1, groups=3, x=RNG.normal(size=30), site=np.repeat(list("uv"), 15), animal=np.arange(30) // 2
)
FACES, FACE_OF = mirrored_faces(RNG), np.repeat(np.arange(12), 2)
ALONE = np.where(np.arange(30) == 0, "alone", "others")
POINTS = np.where(np.asarray(SHAPES.metadata["group"]) == "a", "u", SHAPES.metadata["site"])
BROKEN = np.full((5, 4), np.nan) + 0j


def fit(right="x + group", shapes=SHAPES, data=None, **options):
    return st.shape_lm(f"shape ~ {right}", shapes, data, permutations=options.pop("permutations", 0), **options)


def pairs(*arguments, right="x + group", **options):
    return st.pairwise(fit(right), *arguments, **options)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        # Linear models.
        *((lambda text=text: st.shape_lm(text, SHAPES), ValueError, "must begin with 'shape ~'")
          for text in ("group", "~ group", "form ~ group", "log(shape) ~ group", "")),
        (lambda: st.shape_lm(3, SHAPES), TypeError, "formula must be text"),
        (lambda: fit("group | x"), ValueError, "one right side"),
        (lambda: fit("0 + group"), ValueError, "must have an intercept"),
        *((lambda start=start, step=step: fit("k", data={"k": start + step * np.arange(30)}), ShapeInputError,
           r"the column 'k' has (nearly )?the same value")
          for start, step in ((2020.0, 1e-12), (1e9, 1e-7), (0.3, 1e-17))),
        (lambda: fit("same", data={"same": ["one"] * 30}), ValueError, r"'same' has the same value \('one'\) in all"),
        (lambda: fit("size", SHAPES.replace(configurations=np.tile([0, 1, 1j, 2, 3, 5j], (30, 1)))), ValueError,
         "have the same centroid size"),
        (lambda: fit("group", type=4), ValueError, "type must be 1, 2 or 3"),
        (lambda: fit("group", method="all"), ValueError, "method must be one of"),
        (lambda: fit("group", permutations=-1), ValueError, "permutations must be at least 0"),
        (lambda: fit("group", random_state="x"), ValueError, "random_state must be"),
        (lambda: fit("group * site", error={"group": "group:sit"}), ValueError,
         r"names 'group:sit', which is no term \(did you mean 'group:site'\?\)"),
        (lambda: fit("group * site", error=["residuals"]), ValueError,
         "a list with an entry for each of the terms group, site"),
        (lambda: fit().predict({"x": 1}), ValueError, "must have a column 'group'"),
        (lambda: fit().predict({"x": 1, "group": "z"}), ValueError, "group='z', which the model has not seen"),
        (lambda: fit().predict({"x": [1, 2], "group": ["a", "b", "a"]}), ValueError, "columns of one length"),
        (lambda: fit().predict({"x": 1, "group": "a"}, confidence=95), ValueError, "confidence must lie between"),
        (lambda: fit("x + site").manova(100), ValueError, "n_components must be at most"),
        (lambda: st.compare_models(fit("x"), fit("group")), ValueError, "does not contain 'shape ~ x'"),
        (lambda: st.compare_models(fit("x")), ValueError, "at least one model"),
        (lambda: st.compare_models(fit("x"), fit(shapes=SHAPES[:20])), ValueError, "but 'shape ~ x' used 30"),
        # Pairs and other views on models.
        (lambda: pairs(groups="groop"), ValueError, r"did you mean 'group'\?"),
        (lambda: pairs(groups=["a"] * 30), ValueError, "at least two groups"),
        (lambda: pairs(covariate="group"), TypeError, "must be numbers"),
        (lambda: pairs(null="shape ~ x * group"), ValueError, "must be smaller than the model"),
        (lambda: pairs(correction="bonferroni"), ValueError, "correction must be one of"),
        (lambda: pairs(right="x"), ValueError, "no categorical covariate"),
        (lambda: pairs(right="group").angles, ValueError, "means have no angles"),
        (lambda: st.disparity(SHAPES, ALONE), ValueError, "one shape only in alone"),
        (lambda: st.disparity(SHAPES, ["same"] * 30), ValueError, "at least two groups"),
        (lambda: st.discriminants(SHAPES, ALONE), ValueError, "one shape only in alone"),
        (lambda: st.trajectories(fit("group + site"), "group", POINTS), ValueError, "a has none at v"),
        (lambda: st.trajectories(fit("group + site"), "group", ["u"] * 30), ValueError, "at least two values"),
        (lambda: st.allometry(SHAPES, "group", permutations=9).shapes_at([1.0]), ValueError, "one of a, b, c"),
        (lambda: st.allometry(SHAPES, size="x"), ValueError, "size must be positive numbers"),
        (lambda: st.two_block_pls(SHAPES, np.ones((29, 2))), ValueError, "same number of rows"),
        (lambda: st.two_block_pls(SHAPES, np.ones((30, 2))), ValueError, "must vary"),
        (lambda: st.covariance_ratio(SHAPES, ["a"] * 5 + ["b"]), ValueError, "at least two modules of"),
        (lambda: st.measurement_error(SHAPES, np.arange(30)), ValueError, "every specimen was measured once"),
        (lambda: st.symmetry(FACES, FACE_OF), ValueError, "give pairs for objects"),
        (lambda: st.symmetry(FACES, FACE_OF, pairs=[[0, 8]]), ValueError, "between 0 and 7"),
        (lambda: st.symmetry(FACES, FACE_OF, pairs=[[0, 1], [1, 2]]), ValueError, "each landmark at most once"),
        (lambda: st.symmetry(FACES, FACE_OF, side=["left"] * 24), ValueError, "side must have two values"),
        (lambda: st.symmetry(FACES, FACE_OF, side=["left"] * 12 + ["right"] * 12), ValueError, "shapes of both sides"),
        # Groups.
        (lambda: st.mean_test(sx.ShapeSet(BROKEN, missing="allow"), FACES[:, :4]), ShapeInputError,
         "a must have at least two shapes"),
        (lambda: st.local_test(SHAPES[:6], ["a"] * 6), ShapeInputError, "at least two different values"),
        (lambda: st.local_test(SHAPES[:6], ["a"] * 5 + ["b"]), ShapeInputError, "'b' has one"),
        (lambda: st.local_test(SHAPES[:6], ["a", "b"]), ShapeInputError, "6 shapes"),
        # Codes.
        (lambda: st.atom_tests(CODES, [""] * 40), ShapeInputError, "all 40 shapes are without groups"),
        (lambda: st.atom_tests(CODES, GROUPS, model=sx.ShapeDictionary()), ParameterTypeError, "a fitted dictionary"),
        (lambda: st.atom_tests(CODES[0], GROUPS), CodesError, "matrix"),
        (lambda: st.atom_tests(np.full((4, 2), np.nan), GROUPS[:4]), CodesError, "finite"),
        (lambda: st.atom_tests(CODES, GROUPS, confidence=95), ParameterError, "confidence"),
        (lambda: st.code_lm("codes ~ doses", CODES, {"dose": range(40)}), ShapeInputError, "did you mean 'dose'"),
        (lambda: st.code_lm("codes ~ dose", CODES[:, :1], {"dose": range(40)}), CodesError, "two atoms"),
        (lambda: st.permanova(sx.encode(FACES, FACES[:3], 1), GROUPS[:24]), ParameterError, "model must be given"),
        # Distances.
        (lambda: st.permanova(np.arange(36.0).reshape(6, 6), GROUPS[:6]), ShapeInputError, "symmetric"),
        (lambda: st.permanova(-np.ones((6, 6)), GROUPS[:6]), ShapeInputError, "not negative"),
        (lambda: st.permanova(np.zeros((6, 6)), GROUPS[:6], kind="procrustes"), ParameterError, "kind"),
    ],
)  # fmt: skip
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
