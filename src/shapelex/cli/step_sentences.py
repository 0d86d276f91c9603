"""Steps of an analysis as sentences of a methods section, with what to cite for each.

The sentences name no files: they are meant for a paper.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from shapelex.cli.recorded_steps import Step
from shapelex.exceptions import ShapeFileError, reason_of

PAPER = (
    "A. Song, V. Uhlmann, J. Fageot and M. Unser, Dictionary learning for two-dimensional Kendall shapes, SIAM Journal "
    "on Imaging Sciences (2020), arXiv:1903.11356."
)
_GOODALL = (
    "C. Goodall, Procrustes methods in the statistical analysis of shape, Journal of the Royal Statistical Society B "
    "53 (1991), 285–339."
)
_RRPP = (
    "M. L. Collyer, D. J. Sekora and D. C. Adams, A method for analysis of phenotypic change for phenotypes described "
    "by high-dimensional data, Heredity 115 (2015), 357–365."
)
_HOLM = (
    "S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979), "
    "65–70."
)
_MAXIMUM = "P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing, Wiley, 1993."
_FDR = (
    "Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, Journal of the Royal Statistical Society B 57 "
    "(1995), 289–300."
)
_RESAMPLED = {
    "as given": "",
    "arc length": " spaced equally along its length",
    "least squares": ", fitted by least squares",
}
_TYPES = {1: "I", 2: "II", 3: "III"}
# What notes of a set say of shapes that were left out or changed.
_EXCLUDED = re.compile(r"(\d+) of (\d+) shapes were excluded by")
_MIRRORED = re.compile(r"(\d+) shapes? mirrored:")
_UNREAD = "left out: "

Sentence = tuple[str, tuple[str, ...]]


def sentence_of(step: Step) -> Sentence | None:
    """Return what a step did, in words for a paper, and the references to cite; None where no words are known."""
    if step.name in _ALWAYS:
        return _ALWAYS[step.name], (PAPER,)
    tell = _SENTENCES.get(step.name)
    if tell is None:
        return ("", ()) if not step.name or step.name in _CHANGES_NOTHING else None
    try:
        return tell(step)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # Records are read from files, which may hold anything.
        raise ShapeFileError(f"the record of {step.command!r} is damaged: {reason_of(error)}.") from error


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _tell_import(step: Step) -> Sentence:
    from shapelex.shapes.preparation import LEFT_OUT

    facts = step.facts
    if "described" not in facts:
        # The file is gone, or holds something else.
        return "", ()
    points = f"{facts['described']}{_RESAMPLED[facts['resampling']] if facts['resampling'] else ''}"
    sentences = [f"The data set comprised {facts['n_shapes']} {points}."]
    notes = list(map(str, facts["notes"]))
    for found in filter(None, map(_EXCLUDED.match, notes)):
        sentences.append(f"{found[1]} of {found[2]} specimens were excluded beforehand.")
    n_unread = sum(note.startswith(_UNREAD) for note in notes)
    if n_unread:
        sentences.append(f"{_count(n_unread, 'record')} could not be read.")
    sentences += [f"Objects {LEFT_OUT[one]} were omitted." for one in facts["left_out"]]
    for found in filter(None, map(_MIRRORED.match, notes)):
        sentences.append(f"{_count(int(found[1]), 'specimen')} digitized from the other side were mirrored.")
    if facts["registered"]:
        sentences.append(_registration(facts["registered"]))
    return " ".join(sentences), ()


def _registration(freed: list[str]) -> str:
    words = " and ".join([", ".join(freed[:-1]), freed[-1]] if len(freed) > 1 else freed)
    verb = "were" if len(freed) > 1 else "was"
    return f"The {words} of each outline {verb} chosen to minimize its Procrustes distance to the mean shape."


def _tell_register(step: Step) -> Sentence:
    return _registration(step.facts["registered"]) if step.facts.get("registered") else "", ()


def _tell_learn(step: Step) -> Sentence:
    settings = step.settings
    error = step.facts.get("rmse")
    told = (
        f"; the root mean square of the full Procrustes distances between these shapes and their approximations, the "
        f"training error, was {100 * float(error):.2f} %" if error is not None else ""
    )  # fmt: skip
    return (
        f"A dictionary of {settings.get('n_atoms', '?')} typical shapes (atoms) was learned that approximates each "
        f"shape by a weighted sum of at most {settings.get('n_nonzero', '?')} of them, with complex weights that scale "
        f"and rotate each atom individually (Song et al., 2020; random seed {settings.get('random_state', '?')}){told}."
    ), (PAPER,)


def _tell_mean(step: Step) -> Sentence:
    kind = getattr(step.settings.get("distance"), "value", step.settings.get("distance", "full"))
    return f"Mean shapes minimize the sum of squared {kind} Procrustes distances.", ()


def _tell_test(step: Step) -> Sentence:
    facts, settings = step.facts, step.settings
    permutations = facts.get("permutations", settings.get("permutations", "?"))
    formula = facts.get("formula") or f"shape ~ {settings.get('by')}"
    by = facts.get("by", settings.get("by"))
    used = ""
    if "n_used" in facts and facts["n_used"] < facts["n_shapes"]:
        reasons = Counter((facts.get("dropped") or {}).values())
        listed = ", ".join(f"{reason}: {count}" for reason, count in reasons.items())
        used = f"{facts['n_shapes'] - facts['n_used']} of {facts['n_shapes']} shapes were omitted ({listed}). "
    has_units = facts.get("units", "shapes") != "shapes"
    units = f" of the mean shapes of {facts['n_units']} {facts['units']}, the independent units" if has_units else ""
    sentences = [
        "Shapes were superimposed by partial Procrustes analysis, scaled to unit centroid size and projected into the "
        f"tangent space at their mean. {used}The model {formula} was tested by Procrustes analysis of variance "
        f"(Goodall, 1991) with sums of squares of type {_TYPES[facts.get('type', 1)]} and {permutations} random "
        f"permutations of residuals{units} (Collyer et al., 2015; random seed "
        f"{settings.get('random_state', '?')})."
    ]
    cited = [_GOODALL, _RRPP]
    if by is not None:
        if "correction" in facts:
            sentences.append(_tell_pairs(facts, by))
            cited += [_HOLM] if "Holm" in sentences[-1] else []
        adjusted = ", ".join(facts.get("other_terms") or ())
        not_adjusted = f"; this comparison was not adjusted for {adjusted}" if adjusted else ""
        sentences.append(
            f"Groups of {by} were compared at each point by the Lawley–Hotelling trace, with P values corrected for "
            f"the family-wise error by the distribution of the largest statistic (Westfall and Young, 1993)"
            f"{not_adjusted}."
        )
        cited.append(_MAXIMUM)
    if facts.get("allometry"):
        sentences.append(f"Allometry was described by the model {facts['allometry']}.")
    if settings.get("dictionary") is not None:
        sentences.append(
            "Use and weight of each atom of the dictionary were compared between the groups by permutation, with P "
            "values corrected for the false discovery rate (Benjamini and Hochberg, 1995)."
        )
        cited += [_FDR, PAPER]
    return " ".join(sentences), tuple(cited)


def _tell_pairs(facts: dict[str, Any], by: str) -> str:
    counts = {f"groups of {by}": facts.get("n_pairs", 1)}
    counts |= {f"combinations in {term}": count for term, count in (facts.get("interactions") or {}).items()}
    told = " and of ".join(f"{_count(count, 'pair')} of {what}" for what, count in counts.items())
    is_corrected = max(counts.values()) > 1 and facts["correction"] == "holm"
    corrected = ", with P values corrected by the method of Holm (1979)" if is_corrected else ""
    interval = (
        f"; distances were adjusted for sampling and have 95 % bootstrap intervals ({facts['bootstrap']} samples)"
        if "bootstrap" in facts
        else ""
    )
    return f"The mean shapes of {told} were compared by permutation of residuals{corrected}{interval}."


def _tell_classify(step: Step) -> Sentence:
    facts, settings = step.facts, step.settings
    count = _count(facts["n_shapes"], "shape") if "n_shapes" in facts else "shapes"
    if settings.get("new") is not None:
        return f"The classes of {count} were predicted by the classifier.", ()
    classes = f"{facts['n_classes']} classes" if "n_classes" in facts else "the classes"
    by = facts.get("by") or settings.get("by") or "label"
    methods = ""
    if facts.get("methods"):
        listed = ", ".join(f"{name}, {exponent:.2f}" for name, exponent in facts["methods"].items())
        methods = f"; the methods and the exponents of their probabilities were {listed}"
    sentences = [
        f"A classifier that multiplies powers of the class probabilities of several methods was trained to distinguish "
        f"{classes} of {by} from {count} (random seed {settings.get('random_state', '?')}){methods}."
    ]
    if "accuracy" in facts:
        together = f", in which all shapes of one of the {facts['units']} were held out together"
        sentences.append(
            f"In a stratified cross-validation with {facts['n_folds']} folds{together if facts.get('units') else ''}, "
            f"it assigned {100 * facts['accuracy']:.1f} % of the shapes to the right class (standard error over folds "
            f"{100 * facts['standard_error']:.1f} %; {_count(facts['n_misclassified'], 'shape')} misclassified)."
        )
    return " ".join(sentences), ()


def _tell_compare(step: Step) -> Sentence:
    folds = step.settings.get("cv", "?")
    return f"Methods were compared by their reconstruction errors in a cross-validation with {folds} folds.", ()


_ALWAYS = {
    "encode": "Each shape was encoded by its weights over the atoms of the dictionary (Song et al., 2020).",
    "impute": "Missing landmarks were estimated from a sparse dictionary of shapes (Song et al., 2020).",
}
_SENTENCES: dict[str, Callable[[Step], Sentence]] = {
    "import": _tell_import,
    "register": _tell_register,
    "learn": _tell_learn,
    "mean": _tell_mean,
    "test": _tell_test,
    "classify": _tell_classify,
    "compare": _tell_compare,
}
_CHANGES_NOTHING = ("info", "formats", "check", "report", "replay", "warmup", "demo", "methods")
