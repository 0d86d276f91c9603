"""The page: the paper's table and figures, as Markdown."""

import json
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from paper.measure import ALIGN_FIRST, COMPLEX_PCA, OURS, Measurement, SetResult
from paper.paper_sets import PaperSet

_HEAD = (
    "dataset",
    "N",
    "K",
    "N₀",
    "J",
    "RMSE, paper",
    "paper's algorithm, rerun",
    "**shapelex**",
    "align-first, paper",
    "align-first",
    "complex PCA",
)
_TIME_HEAD = ("dataset", "paper, 4 cores", "paper's algorithm, rerun", "shapelex", "align-first")


def write_page(
    results: Sequence[SetResult],
    figures: Mapping[str, Mapping[str, str]],
    curves: str | None,
    missing: Mapping[str, str],
    unfinished: Sequence[PaperSet],
    run: Mapping[str, Any],
    quick: bool,
) -> str:
    """Write the page.

    Parameters
    ----------
    results : sequence of SetResult
        What was measured.
    figures : mapping
        Figures of each dataset, as :func:`~shapelex.report.reproduction.figures.draw_set` names them.
    curves : str or None
        The figure of all RMSE curves.
    missing : mapping of str to str
        Why other datasets could not be had, by their names.
    unfinished : sequence of PaperSet
        Datasets that are still to come.
    run : mapping
        Description of the run.
    quick : bool
        Whether it was a quick one.

    Returns
    -------
    str
        Markdown.
    """
    parts = [_introduction(quick), _notes_on_sets(missing, unfinished)]
    if results:
        parts += [_table(results), _times(results)]
    if curves is not None:
        parts.append(_curves(curves, [result.paper_set for result in results if not result.curves]))
    parts += [_section(result, figures[result.paper_set.name]) for result in results]
    parts.append(_colophon(run))
    return "\n\n".join(part for part in parts if part) + "\n"


def _introduction(quick: bool) -> str:
    warning = (
        "> **A quick run**: at most 300 shapes of each dataset, 5 updates and no swaps. It shows that everything "
        "works; the numbers mean nothing.\n\n"
        if quick
        else ""
    )
    return (
        f"# The paper, rerun\n\n{warning}Table and figures of A. Song, V. Uhlmann, J. Fageot and M. Unser, "
        "*Dictionary learning for two-dimensional Kendall shapes* (2020), computed again. A dictionary of J atoms "
        "is learned from K shapes of N complex coordinates; each shape is then rebuilt from at most N₀ atoms. "
        "Errors are root mean squared distances of pre-shapes to their reconstructions, in percent."
    )


def _notes_on_sets(missing: Mapping[str, str], unfinished: Sequence[PaperSet]) -> str:
    lines = [f"**Dataset {name} is skipped:** {reason}" for name, reason in missing.items()]
    if unfinished:
        named = ", ".join(paper_set.name for paper_set in unfinished)
        lines.append(f"**Not finished:** {named}. The run was interrupted, or is still under way.")
    return "\n\n".join(lines)


def _table(results: Sequence[SetResult]) -> str:
    rows = []
    for result in results:
        paper_set = result.paper_set
        star = "" if paper_set.is_same_data else " ⁺"
        best = min(result.measured.values(), key=lambda measurement: measurement.rmse)
        rows.append(
            (
                f"{paper_set.name}{star}",
                str(result.shapes.shape[1]),
                str(len(result.shapes)),
                str(paper_set.n_nonzero),
                str(paper_set.n_atoms),
                f"{paper_set.paper_rmse:.2f}",
                _span([100 * one.rmse for one in result.paper_algorithm]),
                *(
                    _strong(f"{100 * measurement.rmse:.2f}", measurement is best)
                    for measurement in (result.measured[OURS],)
                ),
                f"{paper_set.paper_align_first:.2f}",
                *(
                    _strong(f"{100 * result.measured[method].rmse:.2f}", result.measured[method] is best)
                    for method in (ALIGN_FIRST, COMPLEX_PCA)
                ),
            )
        )
    notes = [
        "*RMSE in percent, the least of the three methods here in bold.* *The paper's algorithm* is its own: "
        "random first atoms, greedy codes (ORMP), 30 updates; where two numbers stand, they are the least and the "
        "greatest of 5 seeds. *shapelex* is `ShapeDictionary(n_swaps=50)`, except on dataset 5: better codes "
        "(exact or beam search), and swaps of atoms, for a small error of the shapes learned from. *Align-first* "
        "rotates all shapes onto their mean and learns real weights, with the same swaps. *Complex PCA* uses the "
        "first N₀ modes, and the average besides, as in the paper.",
    ]
    for paper_set in (result.paper_set for result in results):
        if paper_set.batch_size is not None:
            notes.append(
                f"On dataset {paper_set.name} the paper's algorithm updates the weights of random batches of "
                f"{paper_set.batch_size} shapes. Its rerun does so too, with 30 passes over the set; instead of the "
                "weights of all other shapes it keeps sums over the batches before, in which old batches fade. "
                "*shapelex* and *align-first* code all shapes before every update."
            )
    if any(not result.paper_set.is_same_data for result in results):
        notes.append(
            "⁺ **Other data than the paper's**: close relatives, described with each dataset below. There the columns "
            "compare methods on the same shapes, and the rerun of the paper's algorithm says how hard these are. The "
            "paper's numbers stand beside them for orientation only."
        )
    return "## Errors\n\n" + _markdown_table(_HEAD, rows) + "\n\n" + "\n\n".join(notes)


def _times(results: Sequence[SetResult]) -> str:
    rows = [
        (
            result.paper_set.name,
            result.paper_set.paper_seconds,
            _time(
                Measurement(
                    0.0,
                    median(one.seconds for one in result.paper_algorithm),
                    median(one.cpu_seconds for one in result.paper_algorithm),
                )
            ),
            _time(result.measured[OURS]),
            _time(result.measured[ALIGN_FIRST]),
        )
        for result in results
    ]
    return (
        "## Run-times\n\n"
        + _markdown_table(_TIME_HEAD, rows)
        + "\n\nSeconds on the clock for learning and the final coding of all shapes; in brackets, of all processors "
        "together. Compilation is left out. The paper's are for 30 updates on a laptop (Intel i5-7200U, 2.5 GHz)."
    )


def _curves(name: str, left_out: Sequence[PaperSet]) -> str:
    absent = "".join(
        f" Dataset {paper_set.name} is left out: {paper_set.n_atoms} atoms learned anew many times over take long."
        for paper_set in left_out
    )
    return (
        "## Errors by sparsity\n\n"
        + _image(name, "RMSE of the three methods against the number of atoms a shape may use")
        + "\n\nThe paper's figure of error rates: dictionaries are learned anew for every number of atoms a shape may "
        "use (for numbers above the paper's, from the atoms learned for that one). A cross is the paper's own number. "
        "Where a shape may use all atoms, a dictionary spans at best the space of as many modes of complex PCA, which "
        "here also has the average at no charge; atoms that are to look like shapes then cost a little." + absent
    )


def _section(result: SetResult, figures: Mapping[str, str]) -> str:
    paper_set = result.paper_set
    ours, aligned = result.measured[OURS], result.measured[ALIGN_FIRST]
    facts = (
        f"{len(result.shapes)} shapes of {result.shapes.shape[1]} coordinates in `{paper_set.space!r}`; "
        f"{paper_set.n_nonzero} of {paper_set.n_atoms} atoms. RMSE {100 * ours.rmse:.2f} %, "
        f"{_less(ours.rmse, aligned.rmse)} than align-first ({100 * aligned.rmse:.2f} %)."
    )
    if paper_set.is_same_data:
        facts += f" The paper reports {paper_set.paper_rmse:.2f} % and {paper_set.paper_align_first:.2f} %."
    facts += (
        f" An atom lies {result.realism[OURS]:.3f} (median full distance) from its nearest shape, with align-first "
        f"{result.realism[ALIGN_FIRST]:.3f}."
    )
    data = f"{paper_set.data} {_settings(paper_set)}".strip()
    return "\n\n".join(
        [
            f"## Dataset {paper_set.name}: {paper_set.title}",
            f"*Data.* {data}",
            facts,
            _image(figures["dictionaries"], f"Atoms and four reconstructions, dataset {paper_set.name}"),
            "Above, the shape dictionary; below, align-first. Left: atoms in a common pose, most used first, with "
            "the share of the shapes that use them. Right: four reconstructions over the originals (gray), with "
            "their errors: shapes at the 5th, 35th, 65th and 95th percentile of the shape dictionary's errors, "
            "the same ones in both rows.",
            _image(figures["learning"], f"Mean shape, loss and RMSE curves, dataset {paper_set.name}"),
            _learning_caption(result),
            _image(figures["combination"], f"A shape as a sum of atoms, dataset {paper_set.name}"),
            "One shape by three atoms alone. Complex weights scale an atom and turn it: in gray the atom as it "
            "is, in color times its weight, and the sum over the original. Crosses mark the origin.",
        ]
    )


def _learning_caption(result: SetResult) -> str:
    caption = "Left: the mean shape over shapes aligned to it. Then the error while the dictionary is learned"
    if not result.curves:
        return f"{caption}."
    cross = " (cross: the paper's)" if result.paper_set.is_same_data else ""
    return f"{caption}, and the errors of the three methods by the number of atoms a shape may use{cross}."


def _settings(paper_set: PaperSet) -> str:
    """Say how the dictionaries were learned, where it is not as they come."""
    if not paper_set.settings:
        return ""
    stages = [
        f"`{', '.join(f'{name}={value!r}' for name, value in options.items())}`"
        for options in (paper_set.settings, paper_set.refinement)
        if options
    ]
    return f"Both dictionaries are learned with {', then from there with '.join(stages)}."


def _colophon(run: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{package} {number}" for package, number in run["versions"].items())
    command = run["command"] or "shapelex.report.reproduction.reproduce(…)"
    return (
        f"## How this page was made\n\n```\n{command}\n```\n\nSeed {run['seed']}; {run['processors']} processors; "
        f"{versions}. The numbers are also in `results.json`, and every figure is there as SVG too.\n\n<!-- "
        f"shapelex {json.dumps(run).replace('-->', '')} -->"
    )


def _less(ours: float, other: float) -> str:
    change = 100 * (1 - ours / other)
    return f"{change:.0f} % less" if change >= 0 else f"{-change:.0f} % more"


def _strong(text: str, is_strong: bool) -> str:
    return f"**{text}**" if is_strong else text


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def _time(measurement: Measurement) -> str:
    return f"{_digits(measurement.seconds)} s ({_digits(measurement.cpu_seconds)})"


def _digits(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}" if seconds >= 1 else f"{seconds:.2f}"


def _image(name: str, words: str) -> str:
    return f"![{words}](figures/{name}.png)"


def _markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
