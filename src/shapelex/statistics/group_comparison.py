"""Whether groups differ, in which shapes, points and atoms: what ``shapelex test`` and the page both tell."""

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from shapelex._messages import parameter
from shapelex.exceptions import ParameterError, ShapeInputError
from shapelex.shapes.study import Units
from shapelex.statistics.atom_differences import AtomTests, atom_tests
from shapelex.statistics.data import join_columns, read_input, tell_choice
from shapelex.statistics.group_pairs import Pairwise, corrected, pairwise
from shapelex.statistics.grouping import group_units
from shapelex.statistics.local_differences import LocalTest, local_test
from shapelex.statistics.mean_distances import mean_distances, plot_mean_distances
from shapelex.statistics.models import ShapeLinearModel, fit_groups, shape_lm
from shapelex.statistics.results import format_table
from shapelex.statistics.size_dependence import Allometry, allometry

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Draw = tuple[Callable[["Axes"], Any], float]
"""Function that draws on axes, and the height of its figure in mm where it is 140 mm wide."""

LEVEL = 0.05
CONFIDENCE = 0.95
BOOTSTRAP = 999
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class GroupComparison:
    """What was found.

    Attributes
    ----------
    fit : ShapeLinearModel
        The model, by default with the groups as its only term.
    by : str or None
        Column of the groups.
    units : Units or None
        What is independent; None where every shape is.
    left_out : dict of int to str
        Shapes of groups that are too small, with the reason for each.
    pairs : DataFrame or None
        Pairs of groups; with intervals where the groups are the only term.
    correction : str
        Correction of their P values.
    interactions : DataFrame or None
        Pairs of combinations of groups, for each interaction of the groups with other groups in the model: those of
        `pairs` after the column ``term``.
    local, atoms, allometry
        Tests of points and of atoms, and the dependence on size, where these were asked for.
    """

    fit: ShapeLinearModel
    by: str | None
    units: Units | None
    left_out: dict[int, str] = field(default_factory=dict)
    pairs: "pd.DataFrame | None" = None
    correction: str = ""
    interactions: "pd.DataFrame | None" = None
    local: LocalTest | None = None
    atoms: AtomTests | None = None
    allometry: Allometry | None = None

    @property
    def other_terms(self) -> list[str]:
        """Terms of the model other than the groups."""
        return [term for term in self.fit.design.terms if _columns_of(self.fit, term) != [self.by]]

    def notes(self) -> list[str]:
        """Return what the units are, and which groups are left out."""
        told = [] if self.units is None else [tell_choice(self.units.take(self.fit.sample.rows))]
        different = list(dict.fromkeys(self.left_out.values()))
        if different:
            more = f" and {len(different) - _MOST_NAMED} more" if len(different) > _MOST_NAMED else ""
            groups, whose = ("groups that are", "are left out, as if their")
            if len(different) == 1:
                groups, whose = ("group that is", "is left out, as if its")
            named = ", ".join(different[:_MOST_NAMED])
            told.append(
                f"{len(different)} {groups} too small to be compared {whose} shapes had no {self.by}: {named}{more}."
            )
        permutations = self.fit.settings["permutations"]
        counts = [] if self.pairs is None else [len(self.pairs)]
        counts += [] if self.interactions is None else self.interactions["term"].value_counts().tolist()
        if self.correction == "holm" and max(counts, default=0) > LEVEL * (permutations + 1):
            least = math.ceil(max(counts) / LEVEL) - 1
            told.append(
                f"with {permutations} permutations no corrected P of {max(counts)} pairs can be {LEVEL:g} or less: use "
                f"at least {least} permutations."
            )
        return told

    def tables(self) -> "dict[str, pd.DataFrame]":
        """Return all that was found as tables, by name."""
        found = {"anova": self.fit.to_dataframe()}
        if self.pairs is not None:
            found["pairs"] = self.pairs
        if self.interactions is not None:
            found["interactions"] = self.interactions
        if self.local is not None:
            found["points"] = self.local.to_dataframe()
        if self.atoms is not None:
            found |= {"atoms": self.atoms.to_dataframe(), "atom_means": self.atoms.means}
        return found

    def figures(self, lines: bool) -> dict[str, Draw]:
        """Return the figures to draw, by name; `lines` joins the points of a shape."""
        drawn: dict[str, Draw] = {}
        local, atoms, size = self.local, self.atoms, self.allometry
        if local is not None:
            drawn["means"] = (lambda ax: local.plot(ax, lines=lines)), 100
        if self.pairs is not None and "low" in self.pairs:
            drawn["effects"] = self._draw_effects, 25 + 8 * min(len(self.pairs), 20)
        if size is not None:
            drawn["allometry"] = (lambda ax: size.plot(ax=ax)), 100
        if atoms is not None:
            drawn["atoms"] = (lambda ax: atoms.plot(ax)), 110
            drawn["typical"] = (lambda ax: atoms.plot_typical(ax)), 100
        return drawn or {"model": ((lambda ax: self.fit.plot(ax=ax)), 100)}

    def _draw_effects(self, ax: "Axes") -> None:
        assert self.pairs is not None
        corrected = f"P corrected for {len(self.pairs)} pairs ({self.correction.capitalize()}); "
        plot_mean_distances(self.pairs.assign(P=self.pairs["P_corrected"]), alpha=LEVEL, ax=ax)
        ax.set_xlabel(f"{ax.get_xlabel()}\n{corrected if len(self.pairs) > 1 else ''}gray: P > {LEVEL:g}")

    def facts(self) -> dict[str, Any]:
        """Return what a record of this comparison tells, as JSON values."""
        fit = self.fit
        told: dict[str, Any] = {
            "formula": fit.formula,
            "by": self.by,
            "unit": None if self.units is None else self.units.column,
            "n_used": fit.n_used,
            "n_shapes": fit.n_used + len(fit.dropped),
            "units": fit.shapes.noun,
            "n_units": len(fit.shapes.table),
            "dropped": {str(row): self.left_out.get(row, reason) for row, reason in fit.dropped.items()},
            "permutations": fit.settings["permutations"],
            "type": fit.settings["type"],
        }
        if self.pairs is not None:
            told |= {"correction": self.correction, "n_pairs": len(self.pairs)}
            told |= {"bootstrap": BOOTSTRAP} if "low" in self.pairs else {}
        if self.interactions is not None:
            told["interactions"] = self.interactions["term"].value_counts(sort=False).to_dict()
        if self.by is not None and (self.other_terms or self.allometry is not None):
            told["other_terms"] = self.other_terms
            told["allometry"] = None if self.allometry is None else f"shape ~ log(size) * {self.by}"
        return told

    def texts(self) -> list[str]:
        """Return all that was found in words, without the notes."""
        told = [str(self.fit)]
        if self.pairs is not None:
            told.append(_pairs_text(self.pairs, self.correction))
        if self.interactions is not None:
            told += [
                _pairs_text(table.drop(columns="term"), self.correction, f" of the combinations in {term}")
                for term, table in self.interactions.groupby("term", sort=False)
            ]
        told += [str(one) for one in (self.local, self.atoms) if one is not None]
        adjustment = []
        if self.by is not None and self.other_terms:
            adjustment.append(
                f"The comparison at single points (points.csv, means.png) is of the groups of {self.by} alone: it is "
                f"not adjusted for {', '.join(self.other_terms)}."
            )
        if self.by is not None and self.allometry is not None:
            adjustment.append(
                f"The allometry (allometry.png) is that of shape ~ log(size) * {self.by}, whatever the model."
            )
        told += [" ".join(adjustment)] if adjustment else []
        for note in self.notes():
            told = [text.replace(f"\n{note}", "").rstrip() for text in told]
        return told

    def answer(self) -> str:
        """Return the result in one sentence."""
        table, terms, local, atoms = self.fit.table, self.fit.design.terms, self.local, self.atoms
        how = f"{self.fit.settings['permutations']} permutations"
        if self.units is not None:
            how += f" of {len(self.fit.shapes.table)} {self.units.noun}"
        if local is None or len(terms) > 1:
            parts = []
            for verdict, is_wanted in (("matters for shape", True), ("is not seen to matter", False)):
                p_values = {term: float(table.loc[term, "P"]) for term in terms}
                named = [f"{term} (P = {p:.3g})" for term, p in p_values.items() if (p <= LEVEL) == is_wanted]
                if len(named) > 1:
                    named = [", ".join(named[:-1]) + f" and {named[-1]}"]
                    verdict = verdict.replace("matters", "matter").replace("is not", "are not")
                parts += [f"{some} {verdict}" for some in named]
            return f"In the model {self.fit.formula}, {'; '.join(parts)}; {how}."
        p, share = float(table.loc[terms[0], "P"]), float(table.loc[terms[0], "Rsq"])
        least = group_units(self.fit.shapes.table[self.by], unit=self.fit.shapes.noun).least_p[1]
        if least > LEVEL:
            few = f"With only {len(self.fit.shapes.table)} {self.fit.shapes.noun}"
            shown = f"no difference in shape by {self.by} can be shown"
            return f"{few}, {shown}: P can hardly be below {least:.2g}, and is {p:.3g} ({how})."
        groups = local.groups
        names = f"{groups[0]} and {groups[1]}" if len(groups) == 2 else f"the {len(groups)} groups of {self.by}"
        verdict = (
            f"Shape differs between {names}" if p <= LEVEL else f"No difference in shape between {names} was found"
        )
        more = ""
        if p <= LEVEL and local.differs.any():
            more += f", at {int(local.differs.sum())} of {len(local.P)} points"
        if p <= LEVEL and atoms is not None and len(atoms.differing):
            more += f" and in {len(atoms.differing)} of {atoms.mean_weights.shape[1]} atoms"
        return f"{verdict}{more}: P = {p:.3g} ({how}); the groups explain {100 * share:.1f} % of the variation."


def compare_groups(
    shapes: Any,
    by: str | None,
    *,
    unit: Any = "auto",
    formula: str | None = None,
    type: Any = 1,  # noqa: A002
    codes: Any = None,
    model: Any = None,
    data: Any = None,
    where: bool = True,
    permutations: int = 999,
    seed: int = 0,
) -> GroupComparison:
    """Fit the model and compare the groups; with `where` also by pairs and points, with `codes` also by atoms."""
    given = read_input(shapes, data)
    if by is not None:
        given.check_columns([by], parameter("by"))
        if by == unit:
            raise ParameterError(f"{parameter('unit')} is {by}, as {parameter('by')} is: give the column of what is "
                                 "independent, such as the animal, or leave it out.")  # fmt: skip
    units = given.units(unit)
    settings: dict[str, Any] = {"permutations": permutations, "random_state": seed}
    columns: dict[str, Any] = {} if data is None else dict(data)
    left_out: dict[int, str] = {}
    if by is not None:
        columns[by], left_out = _large_groups(_as_categories(given.columns[by], by), by, units)
    if formula is None:
        assert by is not None
        if type != 1:
            raise ParameterError(f"{parameter('type')} needs {parameter('formula')}: a single term has one type.")
        used = given.use({by: given.column(columns[by], by)}, unit=units)
        fit = fit_groups(used, by, permutations=permutations, seed=seed)
    else:
        fit = shape_lm(formula, shapes, columns or None, unit=units, type=type, **settings)
    found: dict[str, Any] = {}
    if by is not None:
        if by not in fit.shapes.table.columns:
            raise ParameterError(
                f"{parameter('formula')} does not contain {by}, whose groups {parameter('by')} compares: add it, or "
                f"leave out {parameter('by')}."
            )
        if where:
            found = {"local": local_test(shapes, by, data=columns, unit=units, **settings)}
            found |= _compare_pairs(fit, by, is_plain=formula is None, seed=seed)
        if codes is not None:
            found["atoms"] = atom_tests(codes, by, unit=units, model=model, data={by: columns[by]}, **settings)
    if formula is not None and "size" in fit.shapes.table.columns:
        found["allometry"] = allometry(shapes, by, data=columns or None, unit=units, **settings)
    return GroupComparison(fit, by, units, left_out, **found)


def _compare_pairs(fit: ShapeLinearModel, by: str, *, is_plain: bool, seed: int) -> dict[str, Any]:
    import pandas as pd

    pairs = _pairs_of(fit, [by], None if is_plain else {by})
    found: dict[str, Any] = {"pairs": pairs.to_dataframe(), "correction": pairs.correction}
    if is_plain:
        # One factor: the means are averages, and have intervals.
        grouping = group_units(fit.shapes.table[by], unit=fit.shapes.noun)
        rng = np.random.default_rng(seed)
        distances = mean_distances(grouping, fit.shapes.coordinates, BOOTSTRAP, CONFIDENCE, rng)
        found["pairs"] = distances.assign(P=found["pairs"]["P"], P_corrected=found["pairs"]["P_corrected"])
    tables = []
    for term in fit.design.terms:
        columns = _columns_of(fit, term)
        if by in columns and len(columns) > 1 and fit.design.categorical.issuperset(columns):
            tables.append(_pairs_of_combinations(fit, columns))
            tables[-1].insert(0, "term", term)
    return found | ({"interactions": pd.concat(tables, ignore_index=True)} if tables else {})


def _pairs_text(table: "pd.DataFrame", correction: str, what: str = "") -> str:
    interval = (
        f", adjusted for sampling, with intervals of {100 * CONFIDENCE:g} % (bootstrap)" if "low" in table else ""
    )
    corrected = f"; P corrected by the method of {correction.capitalize()}" if len(table) > 1 else ""
    return f"Distances between mean shapes{what}{interval}{corrected}.\n\n{format_table(table, index=False)}"


def _pairs_of_combinations(fit: ShapeLinearModel, columns: list[str]) -> "pd.DataFrame":
    """Compare combinations of columns in pairs, each in a model without the columns in which the pair differs.

    Without all columns, the residuals of the null model hold the differences along the others, and hide small ones.
    """
    import pandas as pd

    parts = [fit.shapes.table[name] for name in columns]
    levels = dict(zip(join_columns(parts), zip(*parts, strict=True), strict=True))

    def differing_in(first: str, second: str) -> tuple[str, ...]:
        both = zip(columns, levels[first], levels[second], strict=True)
        return tuple(name for name, one, other in both if one != other)

    tables = []
    for differing in sorted({differing_in(*two) for two in combinations(levels, 2)}):
        pairs = _pairs_of(fit, columns, {*differing})
        table = pairs.to_dataframe()
        is_own = [differing_in(*two) == differing for two in zip(table["first"], table["second"], strict=True)]
        tables.append(table[is_own])
    joined = pd.concat(tables).sort_index()
    return joined.assign(P_corrected=corrected(joined["P"].to_numpy(), pairs.correction))


def _pairs_of(fit: ShapeLinearModel, columns: list[str], without: set[str] | None) -> Pairwise:
    """Compare combinations of columns in pairs; the null model has no term with a column of `without`."""
    others = [term for term in fit.design.terms if without is not None and without.isdisjoint(_columns_of(fit, term))]
    quoted = [":".join(_quoted(fit, factor) for factor in sorted(fit.design.factors_of[term])) for term in others]
    return pairwise(fit, columns, null=None if without is None else f"shape ~ {' + '.join(quoted) or '1'}")


def _quoted(fit: ShapeLinearModel, factor: str) -> str:
    """Return a factor as a formula has it: the name of a column that is not one word is between backticks."""
    return f"`{factor}`" if factor in fit.shapes.table.columns and not factor.isidentifier() else factor


def _columns_of(fit: ShapeLinearModel, term: str) -> list[str]:
    """Return the columns that a term has, as ``label`` and ``site`` of ``label:C(site)``."""
    factors, known = fit.design.factors_of[term], {*fit.shapes.table.columns}
    # Of a factor that is no column, such as C(site), the words.
    words = {name for factor in factors - known for name in re.findall(r"`[^`]+`|\w+", factor)}
    named = {*factors, *words}
    return [name for name in fit.shapes.table.columns if not {name, f"`{name}`"}.isdisjoint(named)]


def _as_categories(column: Any, name: str) -> list[str]:
    """Return groups as text, empty where there is none: whole numbers such as replicates are not a covariate here."""
    if column.dtype.kind == "f" and any(value == value and value != int(value) for value in column.tolist()):
        term = name if name.isidentifier() else f"`{name}`"
        raise ShapeInputError(
            f"{parameter('by', name)} has fractional numbers, no groups: test it as a covariate by "
            f"{parameter('formula', f'~ {term}')}, without {parameter('by')}."
        )
    return ["" if value is None or value != value else str(value) for value in column.tolist()]


def _large_groups(groups: list[str], by: str, units: Units | None) -> tuple[list[str], dict[int, str]]:
    """Return the groups without those of one unit, which are made empty, and the rows of these with the reason.

    Where fewer than two groups would be left, nothing is left out.
    """
    own = range(len(groups)) if units is None else units.numbers.tolist()
    counts = Counter(group for group, _ in set(zip(groups, own, strict=True)) if group)
    small = {group for group, count in counts.items() if count < 2}
    if not small or len(counts) - len(small) < 2:
        return groups, {}
    one = "shape" if units is None else f"of the {units.noun}"
    rows = {row: f"{by} {group} has one {one}" for row, group in enumerate(groups) if group in small}
    return ["" if group in small else group for group in groups], rows
