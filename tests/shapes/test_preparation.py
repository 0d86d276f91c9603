"""The record of how outlines were prepared stays with a set."""

import numpy as np
import pytest

import shapelex as sx
from shapelex.exceptions import PreparationError, ShapeInputError
from shapelex.files.archive import preparation_of_header
from shapelex.shapes.preparation import UNRECORDED, Preparation

SPACE = sx.Landmarks(5, closed=True)
OUTLINE = np.array([0, 2, 3 + 1j, 1 + 2j, 1j])
FLAGS = dict.fromkeys(["start", "direction", "reflection", "subsample"], True)


@pytest.fixture
def registered():
    found = sx.register([OUTLINE, SPACE.roll(OUTLINE, 2)], SPACE)
    return sx.ShapeSet(found.configurations, SPACE, preparation=found.preparation)


def test_slices_keep_it_and_another_space_ends_it(registered):
    assert registered[:1].preparation == registered[[1]].preparation == registered.preparation
    assert registered.replace(ids=["a", "b"]).preparation.is_registered
    other = registered.replace(configurations=np.ones((2, 4)) * [[0, 1, 2j, 3]], space=sx.Landmarks(4))
    assert other.preparation == Preparation()
    with pytest.raises(ShapeInputError, match=r"mean of shape \(5,\).*n_points=3"):
        sx.ShapeSet([[0, 1, 1j]], preparation=registered.preparation)
    # Each shape was registered to another target.
    assert sx.register([OUTLINE, OUTLINE], SPACE, to=[OUTLINE, OUTLINE]).preparation is None


def test_concatenation(registered):
    raw = sx.ShapeSet([OUTLINE], SPACE)
    unknown = raw.replace(preparation=UNRECORDED)
    assert (registered + registered).preparation == registered.preparation
    assert (raw + raw).preparation == Preparation()
    assert (raw + unknown).preparation == UNRECORDED
    # Plain arrays count as prepared.
    plain = raw.replace(preparation=None)
    assert (registered + plain).preparation == registered.preparation
    assert (plain + plain).preparation is None
    resampled, given = (raw.replace(preparation=Preparation(how)) for how in ("arc length", "as given"))
    assert (resampled + raw).preparation == Preparation()
    for first, second, words in (
        (registered, raw, "same way: expected .*registered to a mean .*, got outlines that are not registered"),
        (registered, unknown, "got outlines that are prepared in a way that is not recorded"),
        (resampled, given, "arc length"),
    ):
        with pytest.raises(PreparationError, match=words):
            first + second


def test_summaries_tell_it(registered):
    assert "registered to a mean (start point, direction)" in registered.summary()
    assert "not registered" in sx.ShapeSet([OUTLINE], SPACE).summary()
    assert "registered" not in sx.ShapeSet([OUTLINE]).summary()
    assert "preparation not recorded" in registered.replace(preparation=UNRECORDED).summary()


@pytest.mark.parametrize(
    "value",
    [
        1,
        {},
        {"resampling": "guess", "registration": None},
        {"resampling": None, "registration": {"mean": [[0, 1]]}},
        {"resampling": None, "registration": {"mean": [[0, 1]] * 3, **FLAGS, "start": 1}},
        {"resampling": None, "registration": {"mean": [[0, float("nan")]] * 3, **FLAGS}},
    ],
)
def test_damaged_records_are_refused(value):
    with pytest.raises(ValueError, match="preparation is damaged"):
        preparation_of_header({"preparation": value}, 3)
