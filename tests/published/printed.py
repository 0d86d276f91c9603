"""Comparison with printed numbers: to every digit, and P values within the error of random permutations."""

import numpy as np


def digits(value, printed):
    """Compare a number with a printed one, which has as many decimals as its text.

    R ends its alignment a little before it has converged: where a number lies next to the edge between two roundings,
    it may fall on the other side, by no more than a tenth of the last digit.
    """
    unit = 10.0 ** -len(printed.partition(".")[2])
    assert abs(float(value) - float(printed)) <= 0.6 * unit, (float(value), printed)


def all_digits(values, printed):
    """Compare numbers with printed ones in a text, separated by blanks."""
    texts = printed.split()
    assert len(values) == len(texts)
    for value, text in zip(values, texts, strict=True):
        digits(value, text)


def same_p(found, printed, permutations=1000):
    """Compare a P value with a printed one: both are estimates from random permutations."""
    share = max((found + printed) / 2, 1 / permutations)
    spread = np.sqrt(2 * share * (1 - share) / permutations)
    assert abs(found - printed) <= 4 * spread + 1 / permutations, (found, printed)
