"""Worms over time beside eigenworms: the rhythm of crawling, and errors against the numbers kept per frame.

Eigenworms are the principal components of the tangent angles along the body (Stephens et al., 2008). Their phase is the
angle in the plane of the first two; its velocity is the least-squares slope in the same window of time.
"""

from typing import Any

import numpy as np

import shapelex as sx
from measure import print_table
from shape_data import open_set
from shapelex.sequences.postures import tangent_angles

Array = np.ndarray[Any, Any]

YEMINI = "celegans_yemini_cb4853_midlines_20"
SETS = {
    "celegans_wormpose_midlines_20": "worm, WormPose",
    YEMINI: "worm, Yemini",
    "6376_open_worms_6ctrlpts": "worms, splines",
}
WINDOWS = (5, 9, 15)
SEEDS = (3, 4, 5)
N_FOLDS = 4
N_ATOMS = 12


def main(seeds: tuple[int, ...] = SEEDS) -> None:
    _rhythm(seeds)
    _numbers(seeds[0])


def _rhythm(seeds: tuple[int, ...]) -> None:
    shapes = open_set(YEMINI, "rhythm of a worm")
    if shapes is None:
        return
    angles = tangent_angles(np.asarray(shapes), shapes.space)
    frames = np.asarray(shapes.metadata["frame"])
    centered = angles - angles.mean(axis=0)
    scores = centered @ np.linalg.svd(centered, full_matrices=False)[2][:2].T
    phase = np.unwrap(np.arctan2(scores[:, 1], scores[:, 0]))
    rows = []
    for seed in seeds:
        model = sx.ShapeDictionary(8, 3, random_state=seed).fit(shapes)
        found = sx.sequences.encode_sequence(shapes, model)
        cells = []
        for window in WINDOWS:
            velocity = sx.sequences.phase_velocity(found, window=window)
            near = np.abs(frames[:, None] - frames) <= (window - 1) / 2
            slopes = np.array([np.polyfit(frames[some], phase[some], 1)[0] for some in near if some.sum() >= 3])
            known = near.sum(axis=1) >= 3
            cells.append(f"{abs(np.corrcoef(velocity[known], slopes)[0, 1]):.3f}")
        rows.append([str(seed), *cells])
    header = ["seed", *(f"window of {window} frames" for window in WINDOWS)]
    print_table("docs/how-to/sequences.md, Rhythm: correlation with eigenworms", header, rows, "sequence-rhythm")


def _numbers(seed: int) -> None:
    """Print errors of held-out stretches of time against the real numbers that each method keeps per frame."""
    rows = []
    for name, title in SETS.items():
        shapes = open_set(name, f"numbers per frame, {title}")
        if shapes is None:
            continue
        for method, counts in (
            ("eigenworms", (2, 4, 6)),
            ("TangentPCA", (2, 4, 6)),
            (f"codes of {N_ATOMS} atoms", (1, 2, 3)),
        ):
            for count in counts:
                errors, explained = _held_out(shapes, method, count, seed)
                # A code of k atoms has k complex weights, less one rotation and one scale.
                n_numbers = count if "codes" not in method else 2 * count - 2
                told = f"{n_numbers}" if "codes" not in method else f"{n_numbers} + the set of {count} atoms"
                rows.append([title, method, told, f"{100 * errors:.2f}", f"{explained:.4f}"])
    print_table(
        f"docs/how-to/sequences.md, Numbers per frame: held-out stretches of time, seed {seed}",
        ["set", "method", "numbers per frame", "held-out RMSE in %", "held-out R² of tangent angles"],
        rows,
        "sequence-numbers",
    )


def _held_out(shapes: sx.ShapeSet, method: str, count: int, seed: int) -> tuple[float, float]:
    """Return the root mean squared full distance, and R² of the tangent angles, of four held-out quarters of time."""
    space, rows = shapes.space, np.asarray(shapes)
    squares, left, total = [], 0.0, 0.0
    for fold in np.array_split(np.arange(len(rows)), N_FOLDS):
        train = np.setdiff1d(np.arange(len(rows)), fold)
        rebuilt = _reconstruct(rows[train], rows[fold], space, method, count, seed)
        truth, mean = tangent_angles(rows[fold], space), tangent_angles(rows[train], space).mean(axis=0)
        found = rebuilt if method == "eigenworms" else tangent_angles(rebuilt, space)
        # Branches of the angle: the difference counts modulo a turn.
        difference = np.angle(np.exp(1j * (found - truth)))
        difference -= difference.mean(axis=1, keepdims=True)
        left += float((difference**2).sum())
        total += float(((truth - mean) ** 2).sum())
        if method == "eigenworms":
            curves = np.concatenate([np.zeros((len(fold), 1)), np.cumsum(np.exp(1j * found), axis=1)], axis=1)
            points = sx.sequences.postures.curve_points(rows[fold], space)
            squares.append(sx.distance(curves, points) ** 2)
        else:
            squares.append(sx.distance(rebuilt, rows[fold], space=space) ** 2)
    return float(np.sqrt(np.concatenate(squares).mean())), 1 - left / total


def _reconstruct(train: Array, test: Array, space: Any, method: str, count: int, seed: int) -> Array:
    if method == "eigenworms":
        angles, new = tangent_angles(train, space), tangent_angles(test, space)
        mean = angles.mean(axis=0)
        modes = np.linalg.svd(angles - mean, full_matrices=False)[2][:count]
        return np.asarray(mean + (new - mean) @ modes.T @ modes)
    if method == "TangentPCA":
        return np.asarray(sx.TangentPCA(count, space=space).fit(train).reconstruct(test))
    model = sx.ShapeDictionary(N_ATOMS, count, space=space, random_state=seed).fit(train)
    return np.asarray(sx.sequences.encode_sequence(test, model, switch_cost=0).reconstruct())


if __name__ == "__main__":
    main()
