"""Samples have the asked size, every stratum, and the worst shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelex.report.sampling import N_WORST, choose_shapes


def test_all_are_kept_where_there_is_room(rng):
    rows, words = choose_shapes(10, rng.uniform(size=10))
    assert rows.tolist() == list(range(10))
    assert words == ""


@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.sampled_from(["labels", "series", "one series", "errors"]),
    st.integers(0, 99),
)
def test_samples_have_the_asked_size_and_differ(n_kept, n_shapes, by, seed):
    rng = np.random.default_rng(seed)
    labels = [f"label {value}" for value in rng.integers(0, 9, n_shapes)] if by == "labels" else None
    sequence = {"series": rng.integers(0, 5, n_shapes), "one series": np.zeros(n_shapes, int)}.get(by)
    errors = rng.uniform(size=n_shapes)
    rows, _ = choose_shapes(n_kept, errors, labels, sequence)
    assert len(rows) == min(n_kept, n_shapes)
    assert (np.diff(rows) > 0).all()
    assert set(np.argsort(-errors)[: min(N_WORST, n_kept // 4)]) <= set(rows)
    if labels is not None and n_kept >= 40:
        assert {labels[row] for row in rows} == set(labels)


def test_labels_keep_their_shares(rng):
    labels = ["many"] * 8000 + ["some"] * 1900 + ["few"] * 100
    rows, words = choose_shapes(1000, rng.uniform(size=10_000), labels)
    shares = {name: sum(labels[row] == name for row in rows) / 1000 for name in ("many", "some", "few")}
    assert shares == pytest.approx({"many": 0.8, "some": 0.19, "few": 0.01}, abs=0.02)
    assert "by label" in words
