"""What ``shapelex test`` finds: one sentence, tables, and functions that draw figures."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from shapelex.cli.columns import find_column
from shapelex.cli.errors import CommandError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from shapelex.estimators import ShapeDictionary
    from shapelex.shapes import ShapeSet
    from shapelex.statistics import AtomTests, LocalTest, ShapeLinearModel

_LEVEL = 0.05
_CONFIDENCE = 0.95
_BOOTSTRAP = 999
_MOST_NAMED = 5

RESULT_FILES = (
    "anova.csv", "pairs.csv", "points.csv", "atoms.csv", "atom_means.csv",
    "means.png", "effects.png", "allometry.png", "atoms.png", "typical.png",
)  # fmt: skip
"""Names of all files that may be in the folder of results."""

Draw = tuple[Callable[[Any], Any], float]
"""Function that draws on axes, and the height of its figure in mm."""


@dataclass
class GroupResults:
    """The answer, the results behind it as text and tables, and facts for the record of the run."""

    answer: str
    fit: "ShapeLinearModel"
    texts: list[str]
    tables: "dict[str, pd.DataFrame]"
    facts: dict[str, Any]
    notes: list[str]
    local: "LocalTest | None" = None
    atoms: "AtomTests | None" = None
    allometry: Any = None

    def records(self) -> dict[str, list[dict[str, Any]]]:
        """Return all tables as JSON values."""
        return {name: [_plain(row) for row in table.to_dict("records")] for name, table in self.tables.items()}

    def figures(self, lines: bool) -> dict[str, Draw]:
        """Return the figures to draw, by name."""
        from shapelex.statistics.mean_distances import plot_mean_distances

        drawn: dict[str, Draw] = {}
        if self.local is not None:
            local = self.local
            drawn["means"] = (lambda ax: local.plot(ax, lines=lines)), 100
        if "low" in self.tables.get("pairs", ()):
            pairs = self.tables["pairs"]
            shown, correction = pairs.assign(P=pairs["P_corrected"]), self.facts["correction"]
            label = "" if len(pairs) < 2 else f"P corrected for {len(pairs)} pairs ({correction.capitalize()}); "

            def draw_effects(ax: Any) -> None:
                plot_mean_distances(shown, alpha=_LEVEL, ax=ax)
                ax.set_xlabel(f"{ax.get_xlabel()}\n{label}gray: P > {_LEVEL:g}")

            drawn["effects"] = draw_effects, 25 + 8 * min(len(pairs), 20)
        if self.allometry is not None:
            drawn["allometry"] = (lambda ax: self.allometry.plot(ax=ax)), 100
        if self.atoms is not None:
            atoms = self.atoms
            drawn["atoms"] = (lambda ax: atoms.plot(ax)), 110
            drawn["typical"] = (lambda ax: atoms.plot_typical(ax)), 100
        return drawn


def compare(
    shapes: "ShapeSet",
    *,
    by: str | None,
    within: str | None,
    formula: str | None,
    model: "ShapeDictionary | None",
    permutations: int,
    seed: int,
) -> GroupResults:
    """Fit the model, compare the groups, and say what was found."""
    import shapelex as sx
    from shapelex.statistics.grouping import read_groups

    columns = _columns(shapes)
    for option, name in (("--by", by), ("--within", within)):
        if name is not None:
            find_column(shapes, name, option)
    data: dict[str, Any] = {}
    left_out: dict[int, str] = {}
    if by is not None:
        data, left_out = _large_groups(_as_categories(columns[by], by), columns, by, within)
        # Groups that cannot be compared are refused before the work.
        read_groups(_known(columns, data, by, within), "by", None if within is None else "within")
    text = _formula(formula, by)
    settings: dict[str, Any] = {"permutations": permutations, "random_state": seed}
    fit = sx.statistics.shape_lm(text, shapes, data or None, blocks=within, **settings)
    anova = fit.to_dataframe()
    facts: dict[str, Any] = {
        "formula": text, "by": by, "within": within, "n_used": fit.n_used, "n_shapes": len(shapes),
        "dropped": {str(row): left_out.get(row, reason) for row, reason in fit.dropped.items()},
        "permutations": permutations,
    }  # fmt: skip
    results = GroupResults("", fit, [str(fit)], {"anova": anova}, facts, _tell_left_out(left_out, by))
    if by is not None:
        _compare_groups(results, shapes, data, by, within, settings, is_plain=formula is None)
        if model is not None:
            _compare_atoms(results, shapes, data, by, within, model, settings)
    if formula is not None and "size" in fit.shapes.table.columns:
        results.allometry = sx.statistics.allometry(
            shapes, by, data=data or None, blocks=within, permutations=permutations, random_state=seed
        )
    if formula is not None and by is not None:
        results.texts.append(_tell_adjustment(results, by))
    results.texts = [in_commands(one, within) for one in results.texts]
    results.answer = _answer(results, by, within)
    return results


def _columns(shapes: "ShapeSet") -> "dict[str, np.ndarray[Any, Any]]":
    from shapelex.shapes.set import description_columns

    return dict(description_columns(shapes))


def _known(columns: Any, data: Any, by: str, within: str | None) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame({"by": data[by], **({} if within is None else {"within": columns[within]})})


def _as_categories(column: Any, name: str) -> list[str]:
    """Return groups as text, empty where there is none: whole numbers such as replicates are not a covariate here."""
    if column.dtype.kind == "f" and any(value == value and value != int(value) for value in column.tolist()):
        term = name if name.isidentifier() else f"`{name}`"
        raise typer.BadParameter(
            f'{name} has fractional numbers, no groups: test it as a covariate by --formula "~ {term}", without --by.',
            param_hint="--by",
        )
    return ["" if value is None or value != value else str(value) for value in column.tolist()]


def _large_groups(
    groups: list[str], columns: Any, by: str, within: str | None
) -> tuple[dict[str, list[str]], dict[int, str]]:
    """Return the groups without those of one unit, which are made empty, and the rows of these with the reason.

    Units are shapes, or the values of `within` where each is in one group. Where fewer than two groups would be left,
    nothing is left out.
    """
    units = range(len(groups)) if within is None else [str(value) for value in columns[within].tolist()]
    pairs = {(group, unit) for group, unit in zip(groups, units, strict=True) if group}
    is_whole = within is not None and len(pairs) == len({unit for _, unit in pairs})
    counts = Counter(group for group, _ in pairs) if is_whole else Counter(filter(None, groups))
    small = {group for group, count in counts.items() if count < 2}
    if not small or len(counts) - len(small) < 2:
        return {by: groups}, {}
    unit = f"value of {within}" if is_whole else "shape"
    rows = {row: f"{by} {group} has one {unit}" for row, group in enumerate(groups) if group in small}
    return {by: ["" if group in small else group for group in groups]}, rows


def _tell_left_out(reasons: dict[int, str], by: str | None) -> list[str]:
    """Return a note on groups that are left out."""
    different = list(dict.fromkeys(reasons.values()))
    if not different:
        return []
    more = f" and {len(different) - _MOST_NAMED} more" if len(different) > _MOST_NAMED else ""
    return [
        f"{len(different)} groups that are too small to be compared are left out, as if their shapes had no {by}: "
        f"{', '.join(different[:_MOST_NAMED])}{more}."
    ]


def _tell_adjustment(results: GroupResults, by: str) -> str:
    """Return which results are not adjusted for the other terms of the model, and keep it for the record."""
    others = [term for term in results.fit.design.terms if term not in (by, f"`{by}`")]
    told = []
    if others:
        told.append(
            f"The comparison at single points (points.csv, means.png) is of the groups of {by} alone: it is not "
            f"adjusted for {', '.join(others)}."
        )
    if results.allometry is not None:
        told.append(f"The allometry (allometry.png) is that of shape ~ log(size) * {by}, whatever the model.")
    results.facts["adjustment"] = told
    return " ".join(told)


def in_commands(text: str, within: str | None) -> str:
    """Return remarks of the library in the words of the command line: commands, and the column of --within."""
    text = re.sub(r"\bsx\.(register|impute)\b", r"shapelex \1", text)
    if within is None:
        return text
    text = text.replace("permuted within strata or blocks:", f"permuted within {within}, for the terms:")
    return text.replace("Whole blocks were permuted:", f"Whole values of {within} were permuted, for the terms:")


def _formula(given: str | None, by: str | None) -> str:
    if given is None:
        assert by is not None
        return f"shape ~ {by if by.isidentifier() else f'`{by}`'}"
    right = given.partition("~")[2] if "~" in given else given
    return f"shape ~ {right.strip()}"


def _compare_groups(
    results: GroupResults, shapes: "ShapeSet", data: Any, by: str, within: str | None, settings: Any, *, is_plain: bool
) -> None:
    import numpy as np

    import shapelex as sx
    from shapelex.statistics.grouping import read_groups
    from shapelex.statistics.mean_distances import mean_distances

    if by not in results.fit.shapes.table.columns:
        raise CommandError(f"--formula does not contain {by}, whose groups --by compares: add it, or leave out --by.")
    others = [term for term in results.fit.design.terms if not {by, f"`{by}`"} & results.fit.design.factors_of[term]]
    # Without what is in question: the groups, and their interactions.
    pairs = sx.statistics.pairwise(results.fit, by, null=f"shape ~ {' + '.join(others) or '1'}")
    table = pairs.to_dataframe()
    results.facts |= {"correction": pairs.correction, "n_pairs": len(table)}
    if is_plain:
        # One factor: the means are averages, and have intervals.
        known = _known(_columns(shapes), data, by, within)
        used = known.iloc[results.fit.sample.rows].reset_index(drop=True)
        grouping, _ = read_groups(used, "by", None if within is None else "within")
        rng = np.random.default_rng(settings["random_state"])
        distances = mean_distances(grouping, results.fit.shapes.coordinates, _BOOTSTRAP, _CONFIDENCE, rng)
        table = distances.assign(P=table["P"], P_corrected=table["P_corrected"])
        results.facts |= {"units": grouping.unit, "n_units": grouping.n_units, "bootstrap": _BOOTSTRAP}
    results.tables["pairs"] = table
    results.texts.append(_pairs_text(table, pairs.correction))
    results.local = sx.statistics.local_test(shapes, by, data=data, strata=within, **settings)
    results.tables["points"] = results.local.to_dataframe()
    results.texts.append(str(results.local))


def _pairs_text(table: "pd.DataFrame", correction: str) -> str:
    from shapelex.statistics.results import format_table

    interval = (
        f", adjusted for sampling, with intervals of {100 * _CONFIDENCE:g} % (bootstrap)" if "low" in table else ""
    )
    corrected = f"; P corrected by the method of {correction.capitalize()}" if len(table) > 1 else ""
    return f"Distances between mean shapes{interval}{corrected}.\n\n{format_table(table, index=False)}"


def _compare_atoms(
    results: GroupResults, shapes: "ShapeSet", data: Any, by: str, within: str | None, model: Any, settings: Any
) -> None:
    import shapelex as sx

    columns = {**_columns(shapes), **data}
    codes = model.encode(shapes)
    results.atoms = sx.statistics.atom_tests(codes, by, within, model=model, data=columns, **settings)
    results.tables |= {"atoms": results.atoms.to_dataframe(), "atom_means": results.atoms.means}
    results.texts.append(str(results.atoms))


def _answer(results: GroupResults, by: str | None, within: str | None) -> str:
    """Return the result in one sentence."""
    table, permutations = results.fit.table, results.facts["permutations"]
    if by is None or len(results.fit.design.terms) > 1:
        return _answer_of_terms(results)
    term = results.fit.design.terms[0]
    p, share = float(table.loc[term, "P"]), float(table.loc[term, "Rsq"])
    groups = results.local.groups if results.local is not None else ()
    names = f"{groups[0]} and {groups[1]}" if len(groups) == 2 else f"the {len(groups)} groups of {by}"
    how = f"{permutations} permutations"
    if within is not None:
        is_whole = results.facts.get("units") == "strata"
        how += f" of {results.facts['n_units']} values of {within}" if is_whole else f" within {within}"
    verdict = f"Shape differs between {names}" if p <= _LEVEL else f"No difference in shape between {names} was found"
    local, atoms = results.local, results.atoms
    more = ""
    if p <= _LEVEL and local is not None and local.differs.any():
        more += f", at {int(local.differs.sum())} of {len(local.P)} points"
    if p <= _LEVEL and atoms is not None and len(atoms.differing):
        more += f" and in {len(atoms.differing)} of {atoms.mean_weights.shape[1]} atoms"
    return f"{verdict}{more}: P = {p:.3g} ({how}); the groups explain {100 * share:.1f} % of the variation."


def _answer_of_terms(results: GroupResults) -> str:
    table = results.fit.table
    found = {term: float(table.loc[term, "P"]) for term in results.fit.design.terms}
    parts = []
    for verdict, is_wanted in (("matters for shape", True), ("is not seen to matter", False)):
        named = [f"{term} (P = {p:.3g})" for term, p in found.items() if (p <= _LEVEL) == is_wanted]
        if named:
            some = ", ".join(named[:-1]) + (" and " if len(named) > 1 else "") + named[-1]
            verb = verdict if len(named) == 1 else verdict.replace("matters", "matter").replace("is not", "are not")
            parts.append(f"{some} {verb}")
    return f"In the model {results.facts['formula']}, {'; '.join(parts)}; {results.facts['permutations']} permutations."


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as JSON values, None in place of NaN."""
    values = {str(name): value.item() if hasattr(value, "item") else value for name, value in row.items()}
    return {name: None if value != value else value for name, value in values.items()}
