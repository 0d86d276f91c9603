"""All that a page holds, as one JSON value."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shapelex._typing import ComplexArray, FloatArray
from shapelex.coding import SparseCodes, encode_rows, residual_norms
from shapelex.estimators import ShapeDictionary, TangentPCA
from shapelex.exceptions import NonUniqueMeanWarning, SearchTooLargeError, ShapeInputError
from shapelex.plotting.poses import pose_rotations
from shapelex.report.columns import count_bytes, find_groupings, pack_columns
from shapelex.report.group_tests import group_tests
from shapelex.report.packing import dump_json, pack_array, quantize
from shapelex.report.pose import common_pose
from shapelex.report.sampling import choose_shapes
from shapelex.report.series import pack_series
from shapelex.report.shapes import ReportedShapes
from shapelex.report.summaries import summarize_atoms, summarize_errors, summarize_groups
from shapelex.report.tested import summarize_test
from shapelex.report.words import list_provenance, list_settings, name_kind
from shapelex.spaces import BSpline, HermiteSpline, Landmarks, Space

SIZE_LIMIT = 15_000_000  # bytes
_PAGE_BYTES = 400_000  # the page itself, texts and summaries
_SAME_ERROR = 1e-5  # relative; rounding of single precision stays below it
_FEWEST_SAMPLES = 200
_FEWEST_SAMPLES_A_SPAN = 4
_MOST_FOR_MAP = 20_000  # shapes that the axes of the map are found from


def make_payload(
    model: ShapeDictionary,
    shapes: ReportedShapes,
    *,
    title: str,
    max_shapes: int,
    joined: bool = True,
    n_population: int | None = None,
    findings: Sequence[str] = (),
    tested: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
    by: str | None = None,
    unit: Any = "auto",
) -> dict[str, Any]:
    """Gather what the page shows.

    Parameters
    ----------
    model : ShapeDictionary
        Fitted.
    shapes : ReportedShapes
        Checked shapes.
    title : str
        Title of the page.
    max_shapes : int
        Most shapes that the page may hold.
    joined : bool, default True
        Whether landmarks are joined by a line.
    n_population : int, optional
        Shapes of the set that these are spread over, where they are not all.
    findings : sequence of str
        What may be wrong with the shapes.
    tested : mapping, optional
        Classes and predicted classes of shapes, by their ids.
    provenance : mapping, optional
        Where it comes from.
    by, unit
        What is compared, see :func:`~shapelex.report.group_tests.group_tests`.

    Returns
    -------
    dict
        JSON values; arrays are packed.
    """
    space = model.space_
    atoms = model.atoms_.astype(np.complex128)
    blocks = list(model._coded_blocks(shapes.configurations))
    codes = SparseCodes.concatenate([block.codes for block in blocks])
    errors = np.concatenate([block.errors for block in blocks]).astype(np.float64)
    groupings = find_groupings(shapes.columns)
    groups = [{"column": name, **summarize_groups(values, codes, errors)} for name, values in groupings.items()]
    n_kept = _count_affordable(
        space,
        len(atoms),
        codes.n_nonzero,
        column_bytes=count_bytes(shapes.columns, max_shapes) + _series_bytes(shapes, codes),
        group_bytes=len(dump_json(groups)),
    )
    n_kept = min(max_shapes, n_kept)
    rows, how_chosen = choose_shapes(n_kept, errors, shapes.labels, shapes.sequence)
    kept = space.preshape(shapes.configurations[rows]).astype(np.complex128)
    mean = common_pose(kept, space)
    levels = _codes_of_every_sparsity(model, kept)
    atom_summary = summarize_atoms(codes)
    payload: dict[str, Any] = {
        "title": title,
        "kind": name_kind(space),
        "closed": bool(space.closed),
        "joined": joined,
        "n_shapes": len(shapes),
        "n_population": n_population,
        "how_chosen": how_chosen,
        "n_nonzero": codes.n_nonzero,
        "space": _pack_space(space),
        "atoms": {
            "configurations": pack_array(atoms, "float64"),
            "poses": pack_array(pose_rotations(atoms, space, mean), "float64"),
            **atom_summary,
            # Only where it is known: a page must not learn two more dictionaries.
            "stability": model.stability_.to_json() if "stability_" in dir(model) else None,
        },
        "shapes": {
            "rows": rows.tolist(),
            "ids": [shapes.ids[row] for row in rows],
            **_pack_shapes(kept, space, mean),
            "supports": [
                pack_array(level.support, "int16" if len(atoms) < 1 << 15 else "int32") for level, _ in levels
            ],
            "weights": [pack_array(level.coefs, "float32") for level, _ in levels],
            "errors": [pack_array(level_errors, "float32") for _, level_errors in levels],
        },
        "columns": pack_columns(shapes.columns, rows),
        "groups": groups,
        "group_tests": group_tests(model, shapes, codes, by, unit),
        "map": _place_on_map(kept, space),
        "errors": summarize_errors(errors)
        | {"training": float(model.rmse_), "is_training": n_population is None and _is_fitted_to(model, errors)},
        "loss": [float(loss) for loss in np.sqrt(np.maximum(model.loss_curve_, 0))],
        "settings": list_settings(model),
        "preparation": shapes.preparation,
        "notes": list(shapes.notes),
        "findings": list(findings),
        "provenance": list_provenance(provenance),
    }
    if tested is not None:
        payload["tested"] = summarize_test(tested, shapes, rows, is_whole=n_population is None)
    if shapes.sequence is not None:
        payload["times"] = pack_series(model, shapes, codes, errors, rows)
    return payload


def _is_fitted_to(model: ShapeDictionary, errors: FloatArray) -> bool:
    """Whether these are the errors of the shapes that the model was learned from, as far as their mean square says."""
    return bool(np.isclose(np.sqrt(np.mean(errors**2)), model.rmse_, rtol=_SAME_ERROR, atol=0))


def _count_affordable(space: Space, n_atoms: int, n_nonzero: int, *, column_bytes: float, group_bytes: int) -> int:
    """Number of shapes that fit into a page of the largest size."""
    n_codes = n_nonzero * (n_nonzero + 1) // 2
    bytes_a_shape = 4 * space.n_coordinates + 10 * n_codes + 4 * n_nonzero + 4 + 8 + 8
    fixed = _PAGE_BYTES + group_bytes + (16 * n_atoms * space.n_coordinates + 16 * space.n_coordinates**2) * 4 // 3
    return max(1, int((SIZE_LIMIT - fixed) / (bytes_a_shape * 4 / 3 + 30 + column_bytes)))


def _series_bytes(shapes: ReportedShapes, codes: SparseCodes) -> float:
    """Bytes of a shape for its place in time, and its code there."""
    return 0.0 if shapes.sequence is None else (20 + 12 * codes.n_nonzero) * 4 / 3


def _codes_of_every_sparsity(model: ShapeDictionary, kept: ComplexArray) -> list[tuple[SparseCodes, FloatArray]]:
    """Codes and errors of 1, 2, … atoms per shape, each found by the coder of the model for that many."""
    rows, atom_rows = model._read_new_rows(kept), model._atom_rows()
    levels = []
    for n_nonzero in range(1, model.n_nonzero + 1):
        try:
            codes = encode_rows(rows, atom_rows, n_nonzero, method=model.coder, weight_penalty=model.weight_penalty)
        except SearchTooLargeError:
            codes = encode_rows(rows, atom_rows, n_nonzero, method="auto", weight_penalty=model.weight_penalty)
        levels.append((codes, residual_norms(rows, atom_rows, codes)))
    return levels


def _pack_space(space: Space) -> dict[str, Any]:
    """What the page needs to draw and to measure: values of the basis, and the Gram matrix; neither for landmarks."""
    if isinstance(space, Landmarks):
        return {"n_coordinates": space.n_coordinates, "basis": None, "gram": None}
    return {
        "n_coordinates": space.n_coordinates,
        "basis": pack_array(space.basis(drawing_parameters(space)), "float32"),
        "gram": pack_array(space.gram, "float64"),
    }


def drawing_parameters(space: Space) -> FloatArray:
    """Return the curve parameters at which the page draws a spline: both ends, and every knot.

    Parameters
    ----------
    space : Space
        Any but landmarks, which are drawn as the polygon of their points.

    Returns
    -------
    ndarray of float, shape (n_parameters,)
        From 0 to 1.
    """
    if isinstance(space, BSpline):
        n_spans = space.n_points if space.closed else space.n_points - space.degree
    elif isinstance(space, HermiteSpline):
        n_spans = space.n_intervals
    else:
        n_spans = space.n_coordinates
    per_span = max(-(-_FEWEST_SAMPLES // n_spans), _FEWEST_SAMPLES_A_SPAN)
    return np.linspace(0.0, 1.0, n_spans * per_span + 1)


def _pack_shapes(kept: ComplexArray, space: Space, mean: ComplexArray) -> dict[str, Any]:
    integers, steps = quantize(kept)
    return {
        "configurations": pack_array(integers, "int16"),
        "steps": pack_array(steps, "float32"),
        "poses": pack_array(pose_rotations(kept, space, mean), "float32"),
    }


def _place_on_map(kept: ComplexArray, space: Space) -> dict[str, Any]:
    """First two tangent principal components of the shapes, and their shares of the variance."""
    scores, shares = np.zeros((len(kept), 2)), [0.0, 0.0]
    spread = np.linspace(0, len(kept) - 1, min(len(kept), _MOST_FOR_MAP)).astype(int)
    try:
        with warnings.catch_warnings():
            # Any of several means will do for a map.
            warnings.simplefilter("ignore", NonUniqueMeanWarning)
            pca = TangentPCA(space=space).fit(kept[spread])
    except ShapeInputError:
        # One shape, or copies of it: all lie in the middle of the map.
        return {"places": pack_array(scores, "float32"), "shares": shares}
    n_axes = min(2, pca.n_components_)
    scores[:, :n_axes] = pca.transform(kept)[:, :n_axes]
    shares[:n_axes] = pca.explained_variance_ratio_[:n_axes].tolist()
    return {"places": pack_array(scores, "float32"), "shares": shares}
