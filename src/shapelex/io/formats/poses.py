"""Poses of animals in videos: landmarks of each individual in each frame with their likelihoods in, records out.

A landmark below the likelihood that the caller asks for is missing. Frames in which nothing is known of an individual
are left out. Remarks say what was done, and in which order the landmarks are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from shapelex._typing import ComplexArray, FloatArray, IntArray
from shapelex._validation import check_number
from shapelex.exceptions import ShapeFileError
from shapelex.io.formats.time_series import series_records
from shapelex.io.records import Record, Remark

_NAMED = 100


@dataclass(frozen=True)
class Poses:
    """Poses as a file has them.

    Parameters
    ----------
    points : ndarray of complex, shape (n_individuals, n_frames, n_landmarks)
        The landmarks.
    likelihoods : ndarray of float, same shape, or None
        How sure the program is of each.
    frames : ndarray of int, or sequence of str
        Numbers of the frames of a video, or names of images that are no video.
    individuals : sequence of str
        Their names; a single empty one where the file names none.
    landmarks : sequence of str
        Names of the landmarks, in order.
    tracked : bool
        Whether an individual is the same animal in all frames.
    """

    points: ComplexArray
    likelihoods: FloatArray | None
    frames: IntArray | Sequence[str]
    individuals: Sequence[str]
    landmarks: Sequence[str]
    tracked: bool = True


def check_likelihood(likelihood: float | None) -> None:
    """Refuse a cut-off that is no likelihood."""
    if likelihood is not None and not 0 <= check_number(likelihood, "likelihood") <= 1:
        raise ValueError(f"likelihood must be between 0 and 1, got {likelihood!r}.")


def pose_records(
    poses: Poses, path: Path, *, likelihood: float | None, max_gap: int | None, y_down: bool
) -> Iterator[Record | Remark]:
    """Yield a record for each individual in each frame in which it is seen, ordered by individual, then remarks."""
    n_individuals, n_frames, n_landmarks = poses.points.shape
    points = poses.points.conj() if y_down else poses.points.copy()
    remarks = list(_cut_off(points, poses.likelihoods, likelihood, path))
    named = ", ".join(name[:40] for name in poses.landmarks[:_NAMED])
    remarks.append(Remark(f"{n_landmarks} landmarks", f"in this order: {named}{', …' * (n_landmarks > _NAMED)}."))
    rows = points.reshape(-1, n_landmarks)
    has_names = list(poses.individuals) != [""]
    individuals = np.repeat(np.arange(n_individuals), n_frames) if has_names else None
    stem = path.name.split(".")[0]
    if isinstance(poses.frames, np.ndarray):
        frames = np.tile(poses.frames, n_individuals)
        names = poses.individuals if has_names else None
        for found in series_records(rows, individuals, frames, stem, max_gap=max_gap, closed=None, names=names):
            yield replace(found, sequence=None) if isinstance(found, Record) and not poses.tracked else found
    else:
        has_points = ~np.isnan(rows).all(axis=1)
        for row in np.flatnonzero(has_points).tolist():
            image, name = poses.frames[row % n_frames], poses.individuals[row // n_frames]
            metadata = {"image": image} | ({"individual": name} if has_names else {})
            where = f"image {image!r}" + (f", individual {name!r}" if has_names else "")
            yield Record(rows[row], id=f"{image}:{name}" if has_names else image, metadata=metadata, where=where)
        if not has_points.all():
            n_left_out = len(rows) - int(has_points.sum())
            remarks.append(Remark(f"{n_left_out} of {len(rows)} poses", "left out, since no landmark is known."))
    yield from remarks


def _cut_off(
    points: ComplexArray, likelihoods: FloatArray | None, cut_off: float | None, path: Path
) -> Iterator[Remark]:
    """Make landmarks below the cut-off missing, in place, and say how many; or say that there could be a cut-off."""
    if likelihoods is None:
        if cut_off is not None:
            raise ShapeFileError(f"{path} has no likelihoods, so likelihood={cut_off:g} has no meaning: leave it out.")
        return
    is_known = ~np.isnan(points)
    where = f"{int(is_known.sum())} landmarks"
    if cut_off is None:
        text = "all were taken, however unlikely; the option likelihood=0.6 makes those below 0.6 missing."
        yield Remark(where, text)
        return
    with np.errstate(invalid="ignore"):
        is_unlikely = is_known & (likelihoods < cut_off)
    points[is_unlikely] = complex(np.nan, np.nan)
    yield Remark(where, f"{int(is_unlikely.sum())} of them are below likelihood={cut_off:g} and were made missing.")
