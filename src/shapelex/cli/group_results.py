"""What ``shapelex test`` finds: one sentence, tables, and functions that draw figures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shapelex.cli.shapes import in_commands

if TYPE_CHECKING:
    import pandas as pd

    from shapelex.statistics.group_comparison import GroupComparison

RESULT_FILES = (
    "anova.csv", "pairs.csv", "interactions.csv", "points.csv", "atoms.csv", "atom_means.csv",
    "means.png", "effects.png", "allometry.png", "atoms.png", "typical.png", "model.png",
)  # fmt: skip
"""Names of all files that may be in the folder of results."""

FIGURE_WIDTH = 140  # mm

Draw = tuple[Callable[[Any], Any], float]
"""Function that draws on axes, and the height of its figure in mm where it is as wide as FIGURE_WIDTH."""


@dataclass
class GroupResults:
    """What was found, in one sentence, as text and tables, and facts for the record of the run."""

    found: "GroupComparison"
    answer: str
    texts: list[str]
    tables: "dict[str, pd.DataFrame]"
    facts: dict[str, Any]
    notes: list[str]

    def records(self) -> dict[str, list[dict[str, Any]]]:
        """Return all tables as JSON values."""
        return {name: [_plain(row) for row in table.to_dict("records")] for name, table in self.tables.items()}

    def figures(self, lines: bool) -> dict[str, Draw]:
        """Return the figures to draw, by name."""
        from shapelex.statistics.group_comparison import LEVEL
        from shapelex.statistics.mean_distances import plot_mean_distances

        drawn: dict[str, Draw] = {}
        local, atoms, allometry = self.found.local, self.found.atoms, self.found.allometry
        if local is not None:
            drawn["means"] = (lambda ax: local.plot(ax, lines=lines)), 100
        if "low" in self.tables.get("pairs", ()):
            pairs = self.tables["pairs"]
            shown, correction = pairs.assign(P=pairs["P_corrected"]), self.found.correction
            label = "" if len(pairs) < 2 else f"P corrected for {len(pairs)} pairs ({correction.capitalize()}); "

            def draw_effects(ax: Any) -> None:
                plot_mean_distances(shown, alpha=LEVEL, ax=ax)
                ax.set_xlabel(f"{ax.get_xlabel()}\n{label}gray: P > {LEVEL:g}")

            drawn["effects"] = draw_effects, 25 + 8 * min(len(pairs), 20)
        if allometry is not None:
            drawn["allometry"] = (lambda ax: allometry.plot(ax=ax)), 100
        if atoms is not None:
            drawn["atoms"] = (lambda ax: atoms.plot(ax)), 110
            drawn["typical"] = (lambda ax: atoms.plot_typical(ax)), 100
        return drawn or {"model": ((lambda ax: self.found.fit.plot(ax=ax)), 100)}


def tell_results(found: "GroupComparison", n_shapes: int, permutations: int) -> GroupResults:
    """Return what was found in words and tables."""
    from shapelex.statistics.group_comparison import BOOTSTRAP

    fit, units, dropped = found.fit, found.units, found.fit.dropped
    facts: dict[str, Any] = {
        "formula": fit.formula, "by": found.by, "unit": None if units is None else units.column, "n_used": fit.n_used,
        "n_shapes": n_shapes, "units": fit.shapes.noun, "n_units": len(fit.shapes.table),
        "dropped": {str(row): found.left_out.get(row, reason) for row, reason in dropped.items()},
        "permutations": permutations, "type": fit.settings["type"],
    }  # fmt: skip
    texts, tables = [str(fit)], {"anova": fit.to_dataframe()}
    if found.pairs is not None:
        tables["pairs"] = found.pairs
        facts |= {"correction": found.correction, "n_pairs": len(found.pairs)}
        facts |= {"bootstrap": BOOTSTRAP} if "low" in found.pairs else {}
        texts.append(_pairs_text(found.pairs, found.correction))
    if found.interactions is not None:
        tables["interactions"] = found.interactions
        facts["interactions"] = found.interactions["term"].value_counts(sort=False).to_dict()
        texts += [
            _pairs_text(table.drop(columns="term"), found.correction, f" of the combinations in {term}")
            for term, table in found.interactions.groupby("term", sort=False)
        ]
    if found.local is not None:
        tables["points"] = found.local.to_dataframe()
        texts.append(str(found.local))
    if found.atoms is not None:
        tables |= {"atoms": found.atoms.to_dataframe(), "atom_means": found.atoms.means}
        texts.append(str(found.atoms))
    if found.by is not None and (found.other_terms or found.allometry is not None):
        facts["other_terms"] = found.other_terms
        facts["allometry"] = None if found.allometry is None else f"shape ~ log(size) * {found.by}"
        texts.append(" ".join(_tell_adjustment(found, found.by)))
    notes = found.notes()
    for note in notes:
        # Said once, above all results.
        texts = [text.replace(f"\n{note}", "").rstrip() for text in texts]
    answer = _answer(found, permutations)
    return GroupResults(found, answer, list(map(in_commands, texts)), tables, facts, list(map(in_commands, notes)))


def _tell_adjustment(found: "GroupComparison", by: str) -> list[str]:
    """Return which results are not adjusted for the other terms of the model."""
    told = []
    if found.other_terms:
        told.append(
            f"The comparison at single points (points.csv, means.png) is of the groups of {by} alone: it is not "
            f"adjusted for {', '.join(found.other_terms)}."
        )
    if found.allometry is not None:
        told.append(f"The allometry (allometry.png) is that of shape ~ log(size) * {by}, whatever the model.")
    return told


def _pairs_text(table: "pd.DataFrame", correction: str, what: str = "") -> str:
    from shapelex.statistics.group_comparison import CONFIDENCE
    from shapelex.statistics.results import format_table

    interval = (
        f", adjusted for sampling, with intervals of {100 * CONFIDENCE:g} % (bootstrap)" if "low" in table else ""
    )
    corrected = f"; P corrected by the method of {correction.capitalize()}" if len(table) > 1 else ""
    return f"Distances between mean shapes{what}{interval}{corrected}.\n\n{format_table(table, index=False)}"


def _answer(found: "GroupComparison", permutations: int) -> str:
    """Return the result in one sentence."""
    from shapelex.statistics.group_comparison import LEVEL

    table, terms, local, atoms = found.fit.table, found.fit.design.terms, found.local, found.atoms
    how = f"{permutations} permutations"
    if found.units is not None:
        how += f" of {len(found.fit.shapes.table)} {found.units.noun}"
    if local is None or len(terms) > 1:
        parts = []
        for verdict, is_wanted in (("matters for shape", True), ("is not seen to matter", False)):
            p_values = {term: float(table.loc[term, "P"]) for term in terms}
            named = [f"{term} (P = {p:.3g})" for term, p in p_values.items() if (p <= LEVEL) == is_wanted]
            if named:
                some = ", ".join(named[:-1]) + (" and " if len(named) > 1 else "") + named[-1]
                verb = verdict if len(named) == 1 else verdict.replace("matters", "matter").replace("is not", "are not")
                parts.append(f"{some} {verb}")
        return f"In the model {found.fit.formula}, {'; '.join(parts)}; {how}."
    p, share = float(table.loc[terms[0], "P"]), float(table.loc[terms[0], "Rsq"])
    groups = local.groups
    names = f"{groups[0]} and {groups[1]}" if len(groups) == 2 else f"the {len(groups)} groups of {found.by}"
    verdict = f"Shape differs between {names}" if p <= LEVEL else f"No difference in shape between {names} was found"
    more = ""
    if p <= LEVEL and local.differs.any():
        more += f", at {int(local.differs.sum())} of {len(local.P)} points"
    if p <= LEVEL and atoms is not None and len(atoms.differing):
        more += f" and in {len(atoms.differing)} of {atoms.mean_weights.shape[1]} atoms"
    return f"{verdict}{more}: P = {p:.3g} ({how}); the groups explain {100 * share:.1f} % of the variation."


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as JSON values, None in place of NaN."""
    values = {str(name): value.item() if hasattr(value, "item") else value for name, value in row.items()}
    return {name: None if value != value else value for name, value in values.items()}
