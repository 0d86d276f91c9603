"""``shapelex methods``: the methods paragraph of a paper, from the records of the files that commands wrote."""

from pathlib import Path
from typing import Annotated, Any

import typer

from shapelex.cli.json_report import current_report
from shapelex.cli.options import ForceOption, JsonOption
from shapelex.cli.outputs import claim_file, record_run
from shapelex.cli.recorded_steps import Step, find_steps
from shapelex.cli.screen import Screen
from shapelex.cli.step_sentences import PAPER, sentence_of

_PACKAGES = {"numpy": "NumPy", "scipy": "SciPy", "numba": "Numba", "scikit-learn": "scikit-learn"}


def methods(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files that commands of shapelex wrote: results, models, …")
    ],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Text file to write, such as methods.md.", show_default=False)
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the methods paragraph for a paper: what was done to which shapes, with all settings and versions.

    The text is made from the records in the files and in those that they were made from, as far as these still exist:
    numbers of shapes, exclusions, preparation, settings, permutations, versions and citations. Read it before you
    use it: it says what the commands did, not why.

    Example: shapelex methods results/anova.csv -o methods.md
    """
    target = None if out is None else claim_file(out, force)
    current_report().note_inputs(files)
    steps, versions = find_steps(files)
    sentences = [sentence_of(step) for step in steps]
    told = [one for one in sentences if one is not None]
    # Several files of one analysis may say the same.
    paragraph = " ".join([*dict.fromkeys(words for words, _ in told if words), _versions_sentence(versions)])
    references = list(dict.fromkeys([*(one for _, cited in told for one in cited), PAPER]))
    text = "\n\n".join([paragraph, "References", "\n".join(f"- {reference}" for reference in references)])
    screen = Screen(as_json=as_json)
    screen.say(text)
    for step, sentence in zip(steps, sentences, strict=True):
        if sentence is None:
            screen.say(f"\nnote: not described above: {step.command}")
    if target is not None:
        from shapelex.files.atomic import write_atomically
        from shapelex.files.provenance import write_sidecar

        write_atomically(target, lambda stream: stream.write((text + "\n").encode()))
        write_sidecar(target, record_run(None, tuple(files)))
        screen.wrote(target)
    screen.show({"paragraph": paragraph, "references": references, "steps": [_as_json(step) for step in steps],
                 "versions": versions})  # fmt: skip


def _versions_sentence(versions: list[dict[str, str]]) -> str:
    told = []
    for one in versions:
        others = [f"{title} {one[name]}" for name, title in _PACKAGES.items() if name in one]
        told.append(f"shapelex {one.get('shapelex', '(version not recorded)')} (Python {one.get('python', '?')}"
                    f"{''.join(f', {other}' for other in others)})")  # fmt: skip
    return f"All computations were made with {' and '.join(told)}." if told else ""


def _as_json(step: Step) -> dict[str, Any]:
    return {"command": step.command, "name": step.name, "facts": step.facts}
