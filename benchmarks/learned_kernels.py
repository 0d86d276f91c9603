"""Learned pieces against fixed kernels: accuracy of ridge regression on both kinds of features of closed outlines.

Folds are those of the benchmark of classification. Settings of both transformers are their defaults.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeClassifierCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler

import shapelex as sx
from classification import N_FOLDS, SEED, _standard_error, _units, split
from labelled_sets import SETS, Array, LabelledShapes, load
from measure import print_table

# The pieces were tried out on these.
TRIED_ON = ("hearts", "cells", "trilobites", "sand")


def main() -> None:
    rows = []
    for name, labelled_set in SETS.items():
        parts = load(labelled_set, f"docs/how-to/classification.md, {name}")
        if not parts or not parts[0].space.closed:
            continue
        rows.append(_row(name, parts))
        print(" | ".join(rows[-1]), flush=True)
    header = ["accuracy", "OutlineConvolutions", "PieceCorrelations", "both", "pieces − convolutions"]
    print_table("docs/how-to/classification.md, learned pieces", header, rows, "learned-kernels")


def _row(name: str, parts: Sequence[LabelledShapes]) -> list[str]:
    right: dict[str, list[Array]] = {}
    for part in parts:
        for kind, values in _judge(part).items():
            right.setdefault(kind, []).append(values)
    joined = {kind: np.concatenate(values).astype(float) for kind, values in right.items()}
    groups = np.concatenate(_units(parts))
    difference = joined["pieces"] - joined["convolutions"]
    cells = [f"{values.mean():.3f}" for values in joined.values()]
    error = _standard_error(difference, groups)
    return [f"{name} (tried on)" if name in TRIED_ON else name, *cells, f"{difference.mean():+.3f} ± {error:.3f}"]


def _judge(part: LabelledShapes) -> dict[str, Array]:
    def features() -> dict[str, Any]:
        convolutions = sx.OutlineConvolutions(part.space, random_state=SEED)
        pieces = sx.PieceCorrelations(space=part.space, random_state=SEED)
        return {"convolutions": convolutions, "pieces": pieces, "both": make_union(convolutions, pieces)}

    right = {kind: np.zeros(len(part.y), dtype=bool) for kind in features()}
    for train, test in split(part.y, part.groups, N_FOLDS, SEED):
        for kind, transformer in features().items():
            model = make_pipeline(transformer, StandardScaler(), RidgeClassifierCV(np.logspace(-1, 5, 13)))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                predicted = model.fit(part.X[train], part.y[train]).predict(part.X[test])
            right[kind][test] = predicted == part.y[test]
    return right
