"""Projects of SLEAP: a ``.slp`` file comes in, a record for each animal and frame goes out.

The package sleap-io reads the file. A frame may have poses that somebody labeled and poses that SLEAP predicted: of one
track, or where a labeled pose was made of a predicted one, the labeled pose counts. Each video has its own tracks.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shapelex._extras import load_library
from shapelex._validation import points_to_complex
from shapelex.exceptions import ShapeFileError
from shapelex.files.guards import refusing
from shapelex.io.formats.deeplabcut import Poses, check_options, pose_records
from shapelex.io.formats.hdf5 import check_all_sizes
from shapelex.io.records import BadRecord, Record, Remark

_MOST_LANDMARKS = 1 << 26


def read_records(
    path: Path, *, likelihood: float | None = None, max_gap: int | None = None, y_down: bool = True
) -> Iterator[Record | BadRecord | Remark]:
    """Yield a record for each animal in each frame in which it is seen, ordered by video and animal.

    Parameters
    ----------
    path : Path
        File to read.
    likelihood : float, optional
        Landmarks whose score is below this are missing; None takes all. Those that somebody labeled have the score 1.
    max_gap : int, optional
        A new sequence begins where more frames than this are missing; None keeps each animal in one sequence.
    y_down : bool, default: True
        Whether y points down in the file, as SLEAP has it; it is then negated.
    """
    check_options(likelihood, max_gap)
    sleap_io = load_library("sleap_io", "sleap-io", "Reading projects of SLEAP", extra="sleap")
    with refusing(path, "a SLEAP project"):
        check_all_sizes(path)
        labels = sleap_io.load_slp(path, open_videos=False)
        if not labels.skeletons:
            raise ShapeFileError(f"{path} has no skeleton, so no landmarks.")
        skeleton = labels.skeletons[0]
        videos = defaultdict(list)
        for frame in labels.labeled_frames:
            videos[labels.videos.index(frame.video)].append(frame)
        found = [
            _poses_of(frames, skeleton, labels.tracks, video if len(videos) > 1 else None, path)
            for video, frames in sorted(videos.items())
        ]
    n_others = sum(one.skeleton is not skeleton for frame in labels.labeled_frames for one in frame.instances)
    if n_others:
        yield Remark(f"{n_others} poses", f"left out, since their skeleton is not {skeleton.name}, the first one.")
    if not all(poses.tracked for poses in found):
        yield Remark("poses without a track", "belong to no sequence; track them in SLEAP for time series.")
    n_series = 0
    for poses in found:
        series = {-1}
        for record in pose_records(poses, path, likelihood, max_gap, y_down):
            if isinstance(record, Record) and record.sequence is not None:
                series.add(record.sequence)
                record = replace(record, sequence=record.sequence + n_series)
            yield record
        n_series += max(series) + 1


def _poses_of(frames: list[Any], skeleton: Any, tracks: list[Any], video: int | None, path: Path) -> Poses:
    """Return the poses of one video; `video` is its number where there are several."""
    # By the number of the track, as names may be equal; poses without a track come last, numbered in each frame.
    numbers_of = {id(track): number for number, track in enumerate(tracks)}
    chosen: dict[tuple[int, int], tuple[Any, Any]] = {}
    for frame in frames:
        ours = [one for one in frame.instances if one.skeleton is skeleton]
        labeled = [one for one in ours if not hasattr(one, "score")]
        taken = {id(one.track) for one in labeled if one.track is not None} | {
            id(one.from_predicted) for one in labeled
        }
        predicted = [one for one in ours if hasattr(one, "score") and not {id(one.track), id(one)} & taken]
        n_nameless = 0
        for one in [*labeled, *predicted]:
            n_nameless += one.track is None
            owner = len(tracks) + n_nameless - 1 if one.track is None else numbers_of[id(one.track)]
            scores = one.points["score"] if hasattr(one, "score") else np.ones(len(skeleton.nodes))
            chosen[owner, int(frame.frame_idx)] = one.numpy(), scores
    owners = sorted({owner for owner, _ in chosen})
    names = _names_of(owners, [str(track.name) for track in tracks])
    numbers = sorted({number for _, number in chosen})
    rows, columns = ({key: place for place, key in enumerate(keys)} for keys in (owners, numbers))
    shape = len(names), len(numbers), len(skeleton.nodes)
    if np.prod(shape, dtype=object) > _MOST_LANDMARKS:
        raise ShapeFileError(f"{path} has {shape[0]} tracks in {shape[1]} frames, too many to hold: export one video.")
    xy, scores = np.full((*shape, 2), np.nan), np.full(shape, np.nan)
    for (owner, number), (points, sure) in chosen.items():
        xy[rows[owner], columns[number]], scores[rows[owner], columns[number]] = points, sure
    individuals = names if video is None else [f"video{video}-{name}" for name in names]
    has_scores = any(hasattr(one, "score") for frame in frames for one in frame.instances)
    landmarks = [str(node.name) for node in skeleton.nodes]
    sure = scores if has_scores else None
    is_tracked = max(owners, default=0) < len(tracks)
    return Poses(points_to_complex(xy), sure, np.array(numbers, np.int64), individuals, landmarks, is_tracked)


def _names_of(owners: list[int], tracks: list[str]) -> list[str]:
    """Return a name for each animal: that of its track, with a number where several have it; a number without track."""
    names = [tracks[owner] if owner < len(tracks) else str(owner - len(tracks) + 1) for owner in owners]
    return [f"{name}-{owner}" if names.count(name) > 1 else name for name, owner in zip(names, owners, strict=True)]
