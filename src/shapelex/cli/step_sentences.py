"""Steps of an analysis as sentences of a methods section, with what to cite for each."""

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
_MOST_ROWS = 10

Told = tuple[str, tuple[str, ...]]


def sentence_of(step: Step) -> Told:
    """Return what a step did, in words, and the references to cite; nothing for steps that change no result."""
    tell = _SENTENCES.get(step.name)
    if tell is None:
        known = "" if not step.name or step.name in _WITHOUT_SENTENCE else f"The command {step.command} was run."
        return known, ()
    try:
        return tell(step)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        # Records are read from files, which may hold anything.
        raise ShapeFileError(f"the record of {step.command!r} is damaged: {reason_of(error)}.") from error


def _tell_import(step: Step) -> Told:
    settings, facts = step.settings, step.facts
    inputs = ", ".join(map(str, settings.get("inputs") or ())) or "files"
    count = f"{facts['n_shapes']} shapes" if "n_shapes" in facts else "Shapes"
    parts = [f"{count} were read from {inputs}"]
    if facts.get("preparation"):
        kind = "closed" if facts.get("closed") else "open"
        parts.append(f"as {kind} configurations in {facts['space']} ({facts['preparation']})")
    elif settings.get("n_points"):
        parts.append(f"with {settings['n_points']} points each")
    sentences = [" ".join(parts) + "."]
    if settings.get("exclude"):
        sentences.append(f"Shapes named in {settings['exclude']} were excluded.")
    if settings.get("skip_bad"):
        sentences.append("Records that could not be read were left out.")
    sentences += [f"{note.rstrip('.')}." for note in facts.get("notes", ())]
    return " ".join(sentences), ()


def _tell_register(step: Step) -> Told:
    freed = {"start": "start points", "direction": "directions", "reflection": "reflections"}
    changed = [word for name, word in freed.items() if step.settings.get(name, name != "reflection")]
    to = f"the mean of {step.settings['like']}" if step.settings.get("like") else "their mean"
    words = " and ".join([", ".join(changed[:-1]), changed[-1]] if len(changed) > 1 else changed)
    return f"Outlines were registered to {to}: {words} were chosen that bring each closest to it.", ()


def _tell_impute(_: Step) -> Told:
    return "Missing landmarks were filled in from a sparse dictionary of shapes.", (PAPER,)


def _tell_learn(step: Step) -> Told:
    settings = step.settings
    error = step.facts.get("rmse")
    told = f" (root mean squared full Procrustes error {100 * float(error):.2f} %)" if error is not None else ""
    return (
        f"A dictionary of {settings.get('n_atoms', '?')} atoms was learned from {settings.get('shapes', 'the shapes')},"
        f" with at most {settings.get('n_nonzero', '?')} atoms per shape and seed "
        f"{settings.get('random_state', '?')}{told}."
    ), (PAPER,)


def _tell_encode(step: Step) -> Told:
    return f"Shapes were coded over the dictionary in {step.settings.get('model', 'the model file')}.", (PAPER,)


def _tell_mean(step: Step) -> Told:
    kind = getattr(step.settings.get("distance"), "value", step.settings.get("distance", "full"))
    return f"Mean shapes minimize the sum of squared {kind} Procrustes distances.", ()


def _tell_test(step: Step) -> Told:
    facts, settings = step.facts, step.settings
    permutations = facts.get("permutations", settings.get("permutations", "?"))
    formula = facts.get("formula") or f"shape ~ {settings.get('by')}"
    by = facts.get("by", settings.get("by"))
    used = f"{facts['n_used']} of {facts['n_shapes']} shapes were used. " if "n_used" in facts else ""
    dropped: dict[str, str] = facts.get("dropped") or {}
    if dropped:
        rows = ", ".join(f"{row} ({reason})" for row, reason in list(dropped.items())[:_MOST_ROWS])
        more = f" and {len(dropped) - _MOST_ROWS} more" if len(dropped) > _MOST_ROWS else ""
        used += f"Left out were rows {rows}{more}. "
    has_units = facts.get("units", "shapes") != "shapes"
    exchanged = f" of the mean shapes of {facts['n_units']} {facts['units']}" if has_units else ""
    sentences = [
        "Shapes were aligned to their partial Procrustes mean at unit centroid size and projected into its tangent "
        f"space. {used}The model {formula} was tested by Procrustes analysis of variance with {permutations} random "
        f"residual permutations{exchanged} (seed {settings.get('random_state', '?')})."
    ]
    cited = [_GOODALL, _RRPP]
    if by is not None:
        if "correction" in facts:
            sentences.append(_tell_pairs(facts, by))
            cited += [_HOLM] if facts["correction"] == "holm" and facts.get("n_pairs", 1) > 1 else []
        sentences.append(
            f"Groups of {by} were compared at every landmark or point of the outline by the Lawley–Hotelling trace, "
            "with P values corrected for the family-wise error by the distribution of the largest statistic."
        )
        cited.append(_MAXIMUM)
        sentences += map(str, facts.get("adjustment") or ())
    if settings.get("dictionary") is not None:
        sentences.append(
            f"Use and weight of each atom of the dictionary in {settings['dictionary']} were compared between the "
            "groups by permutation, with P values corrected for the false discovery rate (Benjamini–Hochberg)."
        )
        cited += [_FDR, PAPER]
    return " ".join(sentences), tuple(cited)


def _tell_pairs(facts: dict[str, Any], by: str) -> str:
    n_pairs, correction = facts.get("n_pairs", 1), str(facts["correction"])
    corrected = f", corrected for {n_pairs} pairs by the method of {correction.capitalize()}" if n_pairs > 1 else ""
    interval = (
        f"; distances were adjusted for sampling and have bootstrap intervals of 95 % ({facts['bootstrap']} samples)"
        if "bootstrap" in facts
        else ""
    )
    return f"Mean shapes of pairs of groups of {by} were compared by permutation of residuals{corrected}{interval}."


def _tell_classify(step: Step) -> Told:
    facts, settings = step.facts, step.settings
    count = f"{facts['n_shapes']} shapes" if "n_shapes" in facts else "shapes"
    if settings.get("new") is not None:
        return f"Classes of {count} of {settings['new']} were predicted by the classifier {settings['shapes']}.", ()
    classes = f"{facts['n_classes']} classes" if "n_classes" in facts else "classes"
    by = facts.get("by") or settings.get("by") or "label"
    sentences = [
        f"A classifier was learned to tell {classes} of {by} apart from {count} of {settings.get('shapes', 'a set')} "
        f"(seed {settings.get('random_state', '?')}); it multiplies powers of the class probabilities of several "
        "methods."
    ]
    if facts.get("methods"):
        listed = ", ".join(f"{name} ({exponent:.2f})" for name, exponent in facts["methods"].items())
        sentences.append(f"The methods were, with their exponents, {listed}.")
    if "accuracy" in facts:
        together = f", in which whole {facts['units']} were held out" if facts.get("units") else ""
        sentences.append(
            f"In a stratified cross-validation of {facts['n_folds']} folds{together}, its accuracy was "
            f"{facts['accuracy']:.3f} ± {facts['standard_error']:.3f} (standard error), with "
            f"{facts['n_misclassified']} shapes misclassified."
        )
    return " ".join(sentences), ()


_SENTENCES: dict[str, Callable[[Step], Told]] = {
    "import": _tell_import,
    "register": _tell_register,
    "impute": _tell_impute,
    "learn": _tell_learn,
    "encode": _tell_encode,
    "mean": _tell_mean,
    "test": _tell_test,
    "classify": _tell_classify,
}
_WITHOUT_SENTENCE = ("info", "formats", "suggest", "report", "replay", "warmup", "demo", "methods")
