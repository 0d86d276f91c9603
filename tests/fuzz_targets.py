"""Files to damage, each with what reads it: shapes of every format, models, codes, tables, checkpoints and pages.

A file that comes back as a result is used, too: a model codes shapes, and its codes must be finite.
"""

import gzip
import json
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import shapelex as sx
from shapelex.files.provenance import make_run, read_run

N_POINTS = 6
_FACTS: dict[str, dict[str, Any]] = {
    "import": {
        "n_shapes": 3, "described": "closed outlines", "resampling": "arc length", "registered": ["start point"],
        "left_out": ["border"], "notes": ["3 of 6 shapes were excluded by a.csv"],
    },
    "learn": {"rmse": 0.1},
    "test": {
        "n_used": 3, "n_shapes": 4, "dropped": {"2": "no site"}, "correction": "holm", "n_pairs": 3, "bootstrap": 99,
        "other_terms": ["size"], "allometry": "shape ~ log(size)", "interactions": {"site:sex": 6},
    },
    "classify": {
        "n_shapes": 4, "n_classes": 2, "methods": {"tangent LDA": 0.7}, "accuracy": 0.9, "standard_error": 0.01,
        "n_folds": 5, "n_misclassified": 1,
    },
}  # fmt: skip

# What some files cannot be read without.
_OPTIONS: dict[str, dict[str, object]] = {
    "blocks.csv": {"layout": "blocks"},
    "hands_reference_layout.csv.gz": {"layout": "blocks"},
    "curves.tps": {"curves": "append"},
    "wings.tps": {"scale": "ignore"},
    "crlf.tps": {"scale": "drop"},
    "walks.wcon": {"curve": "perimeter"},
    "crowd.json": {"crowd": True},
}


@dataclass(frozen=True)
class Target:
    """A file or Zarr folder, what it is, and a function that reads a damaged copy; it is given the number of the case.

    Where the content begins with a checksum of the rest, `signed` renews it.
    """

    kind: str
    path: Path
    read: Callable[[Path, int], object]
    signed: Callable[[bytes], bytes] | None = None


def make_targets(folder: Path) -> list[Target]:
    """Write files of every kind that we or the libraries of the tests can write."""
    (folder / "shapes").mkdir(parents=True)
    make_shape_files(folder / "shapes")
    targets = [Target("shapes", path, read_shapes) for path in _inside(folder / "shapes")]
    shapes, model = make_shapes(40), _small_dictionary()
    with warnings.catch_warnings(action="ignore"):
        model.fit(shapes.configurations)
    readers: dict[str, tuple[Callable[[Path], None], Callable[[Path, int], object]]] = {
        "stored shapes": (lambda own: _make_sets(own, shapes), _open_shapes),
        "model": (lambda own: _make_models(own, shapes), _use_model),
        "codes": (lambda own: _make_codes(own, model, shapes), lambda path, _: sx.read_codes(path)),
        "table of options": (_make_tables, _read_table),
        "record": (lambda own: _make_records(own, model, shapes), _use_record),
    }
    for kind, (make, read) in readers.items():
        (folder / kind).mkdir()
        make(folder / kind)
        targets += [Target(kind, path, read) for path in _inside(folder / kind)]
    for name, options in (("fit", {}), ("batches", {"batch_size": 20})):
        path = folder / f"{name}.checkpoint"
        read = partial(_resume, **options)
        read(path, 0)
        targets.append(Target("checkpoint", path, read, signed=_sign))
    return targets


def read_shapes(path: Path, seed: int) -> None:
    """Read shapes with options that differ from case to case."""
    fitted: dict[str, object] = {"space": sx.BSpline(5), "closed": True}
    choices: list[dict[str, object]] = [{"n_points": 20}, {}, {"missing": "allow"}, fitted]
    options = dict(choices[seed // 3 % 4])
    if seed % 3 == 0:
        options["on_error"] = "skip"
    sx.read(path, **options, **_OPTIONS.get(path.name, {}))


def _open_shapes(path: Path, _: int) -> None:
    stored = sx.open_shapes(path)
    assert len(stored[:]) == len(stored)


def _use_model(path: Path, _: int) -> None:
    model = sx.load(path)
    if model.n_features_in_ != N_POINTS:
        return
    use = getattr(model, "transform", None) or model.predict_proba
    assert np.isfinite(use(make_shapes(40).configurations)).all(), "a model that was read gives NaN"


def _use_record(path: Path, _: int) -> None:
    """Read a record, compare its inputs, and tell its methods."""
    from shapelex.cli.info import _states
    from shapelex.cli.recorded_steps import find_steps
    from shapelex.cli.step_sentences import sentence_of

    run = read_run(path)
    _states(run)
    for step in find_steps([path])[0]:
        sentence_of(step)


def _small_dictionary(**options: Any) -> Any:
    return sx.ShapeDictionary(3, 2, coder="ormp", n_swaps=0, max_iter=2, random_state=0, **options)


def _resume(path: Path, _: int, **options: Any) -> None:
    model = _small_dictionary(checkpoint=path, **options).fit(make_shapes(40).configurations)
    assert np.allclose(model.space_.norm(model.atoms_), 1), "atoms of a resumed fit have another norm than 1"


def _sign(content: bytes) -> bytes:
    """Return a checkpoint with the checksum that its content has."""
    import hashlib

    from shapelex.files.checkpoint_file import _DIGEST_BYTES, _MAGIC

    payload = content[len(_MAGIC) + _DIGEST_BYTES :]
    return _MAGIC + hashlib.sha256(payload).digest() + payload


def _inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def make_shapes(n_shapes: int) -> sx.ShapeSet:
    """Return shapes, a multiple of five, that have columns of all kinds."""
    rng, n_fifths = np.random.default_rng(0), n_shapes // 5
    return sx.ShapeSet(
        rng.normal(size=(n_shapes, N_POINTS, 2)),
        sx.Landmarks(N_POINTS),
        labels=list("aabbc") * n_fifths,
        sequence=[0, 0, 1, 1, -1] * n_fifths,
        metadata={"frame": range(n_shapes), "site": list("vwxyz") * n_fifths, "weight": rng.random(n_shapes)},
        notes=["made"],
    )


def _make_sets(folder: Path, shapes: sx.ShapeSet) -> None:
    for name in ("set.npz", "set.zarr"):
        sx.write(shapes, folder / name)
    np.save(folder / "set.npy", shapes.configurations)


def _make_models(folder: Path, shapes: sx.ShapeSet) -> None:
    few = {"max_iter": 2, "random_state": 0}
    models = (
        _small_dictionary(),
        sx.AlignFirstDictionary(3, 2, **few),
        sx.ComplexPCA(2, subtract_average=True),
        sx.TangentPCA(2),
        sx.RiemannianDictionary(3, **few),
        sx.ProcrustesKernel(),
        sx.ShapeDictionaryClassifier(2, 1, coder="ormp", n_swaps=0, **few),
        sx.ShapeClassifier(random_state=0),
    )
    # Closed curves, which are registered, and whose classifier has convolutions.
    rng = np.random.default_rng(1)
    circle = np.exp(2j * np.pi * np.arange(N_POINTS) / N_POINTS)
    outlines = circle + 0.2 * rng.normal(size=(20, 2)) @ np.stack([circle**2, circle**-1])
    outlines[::2] += 0.4 * circle**-1
    curves = sx.OutlineRegistration().fit_transform(
        sx.ShapeSet(outlines, sx.BSpline(N_POINTS), labels=["long", "round"] * 10)
    )
    with warnings.catch_warnings(action="ignore"):
        for model in models:
            model.fit(shapes.configurations, shapes.labels).save(folder / f"{type(model).__name__}.npz")
        sx.ShapeClassifier(random_state=0).fit(curves).save(folder / "classifier of outlines.npz")
        _small_dictionary().fit(curves).save(folder / "dictionary of outlines.npz")


def _make_tables(folder: Path) -> None:
    from shapelex.files.table_file import TABLE_SUFFIXES, write_table

    predictions = {"id": ["a", "b"], "label": ["x", "y"], "predicted": ["x", "x"], "probability": [0.9, 0.6]}
    sheet = {"id": ["a", "b", "c"], "site": ["u", "v", ""], "weight": [1.5, 2.5, np.nan]}
    for name, columns in (("predictions", predictions), ("sheet", sheet)):
        for suffix in TABLE_SUFFIXES:
            write_table(folder / f"{name}{suffix}", [columns], make_run("shapelex classify", 0))
            (folder / f"{name}{suffix}.json").unlink(missing_ok=True)
    (folder / "exclusion.csv").write_text('id,file\na,x.png\n"b, c",y.png\n')


def _read_table(path: Path, _: int) -> None:
    from shapelex.cli.exclusion import read_exclusion
    from shapelex.cli.report import _read_predictions
    from shapelex.io.joining import Sheet

    readers: dict[str, Callable[[Path], object]] = {
        "predictions": _read_predictions,
        "sheet": lambda path: Sheet(path, "id"),
        "exclusion": read_exclusion,
    }
    readers[path.stem](path)


def _make_codes(folder: Path, model: Any, shapes: sx.ShapeSet) -> None:
    from shapelex.coding.codes import shape_columns
    from shapelex.files.code_files import SUFFIXES, write_codes

    block = (model.encode(shapes), model.errors(shapes), shape_columns(shapes))
    for suffix in SUFFIXES:
        write_codes(folder / f"codes{suffix}", [block], make_run("shapelex encode", 0))
        (folder / f"codes{suffix}.json").unlink(missing_ok=True)
    for suffix in (".csv", ".parquet"):
        write_codes(folder / f"atoms{suffix}", [block], make_run("shapelex encode", 0), "atoms")
        (folder / f"atoms{suffix}.json").unlink(missing_ok=True)


def _make_records(folder: Path, model: Any, shapes: sx.ShapeSet) -> None:
    from shapelex.cli.report import on_page

    run = make_run("shapelex report model.npz shapes.npz -o page.html", 0)
    sx.report.write_report(model, shapes, folder / "page.html", provenance=on_page(run))
    for command, facts in _FACTS.items():
        told = make_run(f"shapelex {command} a.npz --by site -o b.npz", 0) | {"facts": facts}
        told["inputs"] = [{"path": "a.npz", "bytes": 3, "sha256": "0" * 64}]
        (folder / f"{command}.json").write_text(json.dumps({"run": told}))


def make_shape_files(folder: Path) -> None:
    """Write a file of every format of shapes that we or the libraries of the tests can write."""
    from tests.io import (
        test_cellpose,
        test_coco,
        test_deeplabcut,
        test_geojson,
        test_poses,
        test_r_array,
        test_sleap,
        test_wcon,
        test_wkt,
    )
    from tests.io.test_csv import LONG, WIDE
    from tests.io.test_nts import MORPHOLOGIKA, NTS
    from tests.io.test_tps import CURVED, OUTLINE, PLAIN

    worms = json.dumps(
        test_wcon.recording(
            test_wcon.worm("1", [0, 1], [[1, 2.5], [3, None]], [[1, 2], [3, 4]], ox=[1, 2], oy=[0, 1]),
            test_wcon.worm("2", [0], [[1, 2.5]], [[1, 2]], head="L", cx=[1], cy=[2]),
            y="12*in",
        )
    )
    geometries = {"MultiPolygon": [_RINGS, _RINGS[:1]], "Polygon": _RINGS}
    features = [test_geojson.feature(*one, classification={"name": "Tumor"}) for one in geometries.items()]
    tps = "# wings\n" + PLAIN * 3 + CURVED + OUTLINE + PLAIN.replace("0 1", "nan nan")
    texts = {
        "wings.tps": tps,
        "raw.tps": PLAIN * 4,
        "curves.tps": CURVED * 2,
        "wide.csv": WIDE,
        "blocks.csv": "a,0,1,1,0,0,0,1,1\nb,0,2,2,0,0,0,2,2\n",
        "comma.csv": WIDE.replace(",", ";").replace("0;0", "0,5;0"),
        "long.tsv": LONG.replace(",", "\t"),
        "long.csv": LONG,
        "unknown": LONG,
        "wings.nts": NTS,
        "labelled.nts": NTS.replace("6 0 DIM", "6L 1 -999 DIM").replace("right\n", "right a b c d e f\n"),
        "wings.txt": MORPHOLOGIKA,
        "track.wkt": test_wkt.TRACK + "oak; MULTIPOLYGON(((0 0,1 0,1 1,0 0)),((0 0,4 0,4 3,2 2,0 0),(1 1,2 1,2 2)))\n",
        "a_cp_outlines.txt": test_cellpose.OUTLINES * 3,
        "dlc_single.csv": test_deeplabcut.SINGLE,
        "dlc_several.csv": test_deeplabcut.SEVERAL,
        "r_array.csv": test_r_array.ARRAY,
        "worms.wcon": worms,
        "walks.wcon": json.dumps(test_wcon.recording(test_wcon.worm("1", [0], [1], [2], walk=[_WALK]))),
        "cells.geojson": json.dumps(features),
        "cells.json": json.dumps(test_coco.document(*_SEGMENTATIONS)),
        "crowd.json": json.dumps(test_coco.document(*_SEGMENTATIONS, iscrowd=1)),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "crlf.tps").write_bytes(tps.replace("\n", "\r\n").encode("utf-16"))
    (folder / "packed.csv.gz").write_bytes(gzip.compress(WIDE.encode()))
    rng = np.random.default_rng(0)
    names = test_deeplabcut.header(("a", "b"))
    test_deeplabcut.save_table(folder / "dlc.h5", names, rng.random((20, 18)), np.arange(20))
    test_deeplabcut.save_blocks(folder / "dlc_blocks.h5", names, rng.random((20, 18)), np.arange(20))
    test_sleap.save(folder / "sleap.h5", dims=True)
    test_poses.save_nwb(folder / "poses.nwb", left_out={(0, 1, 2)})
    if find_spec("sleap_io") is not None:
        test_poses.save_project(folder / "project.slp")
    _make_arrays(folder, rng)
    _make_recordings(folder, rng)
    _make_images(folder)
    _make_archives(folder, worms.encode())


def _make_arrays(folder: Path, rng: np.random.Generator) -> None:
    shapes = make_shapes(5).replace(space=sx.Landmarks(N_POINTS, closed=True))
    for name in ("own.npz", "own.csv", "own.tsv", "own.tps", "own.xlsx", "own.parquet", "own.zarr"):
        sx.write(shapes, folder / name)
    np.save(folder / "own.npy", shapes.configurations)
    from tests.io.test_cellpose import seg_file

    seg_file(folder / "cells_seg.npy", np.kron(np.arange(4).reshape(2, 2), np.ones((9, 9), dtype="u2")).astype("u2"))
    for name, save in (("plain.npz", np.savez), ("packed.npz", np.savez_compressed)):
        save(folder / name, points=rng.normal(size=(3, 5, 2)), labels=["a", "", "b"], closed=True, frame=[1, 2, 3])


def _make_recordings(folder: Path, rng: np.random.Generator) -> None:
    """Write skeletons in HDF5 and in files of MATLAB."""
    import h5py
    from scipy.io import savemat

    points = rng.normal(size=(6, 5, 2)).cumsum(axis=1)
    points[2] = np.nan
    with h5py.File(folder / "tierpsy.hdf5", "w") as file:
        file.create_dataset("coordinates/skeletons", data=points, chunks=(3, 5, 2), compression="gzip")
        columns = [("worm_index_joined", "i4"), ("frame_number", "i4")]
        file["trajectories_data"] = np.array([(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)], dtype=columns)
    with h5py.File(folder / "latest.h5", "w", libver="latest") as file:
        file.create_dataset("a/b", data=points, shuffle=True, fletcher32=True)
        file["skeletons"] = h5py.SoftLink("/a/b")
    skeleton = {"x": points[..., 0].T, "y": points[..., 1].T}
    for name, packs in (("plain.mat", False), ("packed.mat", True)):
        savemat(folder / name, {"worm": {"note": "text", "posture": {"skeleton": skeleton}}}, do_compression=packs)
    with h5py.File(folder / "newest.mat", "w", userblock_size=512) as file:
        for axis, name in enumerate("xy"):
            file[f"worm/posture/skeleton/{name}"] = points[..., axis]
    content = (folder / "newest.mat").read_bytes()
    (folder / "newest.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + content[128:])


def _make_images(folder: Path) -> None:
    """Write label images, masks and regions."""
    import tifffile
    from PIL import Image

    labels = np.zeros((60, 80), np.uint16)
    labels[5:20, 5:30], labels[30:50, 10:40], labels[20:28, 50:70] = 1, 2, 300
    stack = np.stack([labels] * 2)
    tifffile.imwrite(folder / "labels64.tif", labels.astype(np.int64))
    tifffile.imwrite(folder / "stack.tif", stack, photometric="minisblack")
    tifffile.imwrite(folder / "imagej.tif", stack, imagej=True, metadata={"axes": "TYX"})
    tifffile.imwrite(folder / "tiles.tif", stack, photometric="minisblack", compression="zlib", tile=(16, 16))
    mask = Image.fromarray((labels > 0).astype(np.uint8) * 255)
    for name, mode in (("binary.png", "L"), ("palette.png", "P"), ("alpha.png", "RGBA"), ("binary.jpg", "L")):
        mask.convert(mode).save(folder / name)
    mask.convert("1").save(folder / "fax.tif", compression="group4")


def _make_archives(folder: Path, worms: bytes) -> None:
    import roifile

    region = roifile.ImagejRoi.frompoints(np.array([[2, 1], [2, 5], [6, 5], [6, 1]]), name="cell").tobytes()
    (folder / "one.roi").write_bytes(region)
    for name, end, content in (("set.zip", ".roi", region), ("worms.wcon.zip", ".wcon", worms)):
        with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"a{end}", content)
            archive.writestr(f"b{end}", content)


_WALK = {"px": [1.6, 1.1, 0.1], "n": [38, 19], "4": "iIgoomh3d9_9DQ"}
_RINGS = [[[0, 0], [5, 0], [5, 6], [0, 0]], [[1, 1], [2, 1], [2, 2], [1, 1]]]
_SEGMENTATIONS: list[Any] = [
    [[0, 0, 4, 0, 4, 4.5], [1, 1, 2, 1, 2, 2]],
    {"size": [6, 5], "counts": [7, 3, 3, 3, 3, 3, 8]},
    {"size": [6, 5], "counts": "73300005"},
]
