"""Numbers in text: the fast way gives what the slow one does."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shapelex.io.numbers import format_number, parse_number, parse_pairs

words = st.sampled_from(
    ["1", "-2.5", "1e5", "1e999", "nan", "NA", "x", "1_0", "|", "0,5", "1,5,5", ".", "-", "", "inf", "1.5,2"]
)
lines = st.lists(st.lists(words, max_size=3).map(" ".join), max_size=5)


def slow_pairs(lines):
    """Read line by line and word by word; None and the place of the first bad line where there is one."""
    points = []
    for place, line in enumerate(lines):
        pair = line.split()
        try:
            x, y = (parse_number(word, "," if word.count(",") == 1 and "." not in word else ".") for word in pair)
        except ValueError:
            return None, place
        points.append(complex(math.nan, math.nan) if math.isnan(x) or math.isnan(y) else complex(x, y))
    return points, len(lines)


@given(lines)
@example(["1 2", "3 | 4", "5"])
@example(["1 2 3", "4"])
@example(["1 2 |", "3 4"])
def test_pairs(lines):
    expected, expected_place = slow_pairs(lines)
    points, place = parse_pairs(lines)
    assert place == expected_place
    if expected is None:
        assert points is None
    else:
        np.testing.assert_array_equal(points, np.array(expected, dtype=complex))


@given(st.floats(allow_infinity=False))
def test_round_trip(number):
    np.testing.assert_array_equal(parse_number(format_number(number)), number)
    np.testing.assert_array_equal(parse_number(f" {format_number(number)} ".replace(".", ","), ","), number)


@given(st.floats(allow_infinity=False, width=32))
def test_round_trip_of_single_precision(number):
    np.testing.assert_array_equal(np.float32(parse_number(format_number(np.float32(number)))), np.float32(number))


@pytest.mark.parametrize(("number", "text"), [(5184.0, "5184"), (0.5, "0.5"), (-0.0, "-0"), (1e22, "1e+22")])
def test_short_texts(number, text):
    assert format_number(number) == text


@pytest.mark.parametrize("text", ["", " ", "NA", "n/a", "NaN", "null", ".", "-", "#N/A"])
def test_missing(text):
    assert math.isnan(parse_number(text))


@pytest.mark.parametrize(
    ("text", "words"), [("one", "'one' is no number"), ("1_0", "is no number"), ("-1e999", "too large")]
)
def test_refuses(text, words):
    with pytest.raises(ValueError, match=words):
        parse_number(text)


@pytest.mark.parametrize("text", ["\u0661", "1_000", "\uff11", "1\u0662"])
def test_only_plain_digits_are_numbers(text):
    with pytest.raises(ValueError, match="is no number"):
        parse_number(text)
