"""``shapelex methods``: the methods paragraph of a paper, from the records of the files that commands wrote."""

from pathlib import Path
from typing import Any

from shapelex.cli.command import TextFile, command
from shapelex.cli.recorded_steps import find_steps
from shapelex.cli.run import Run
from shapelex.cli.step_sentences import PAPER, sentence_of

_PACKAGES = {"numpy": "NumPy", "scipy": "SciPy", "numba": "Numba", "scikit-learn": "scikit-learn"}


@command()
def methods(run: Run, files: list[Path], *, out: TextFile | None = None) -> dict[str, Any]:
    """Write the methods paragraph for a paper: what was done to which shapes, with all settings and versions.

    The text is made from the records in the files and in those that they were made from, as far as these still exist:
    numbers of shapes, exclusions, preparation, settings, permutations, versions and citations. Read it before you
    use it: it says what the commands did, not why.

    Example: shapelex methods results/anova.csv -o methods.md

    Options
    -------
    files : Files that commands of shapelex wrote: results, models, …
    out : Text file to write, such as methods.md.
    """
    run.reads(*files)
    steps, versions = find_steps(files)
    sentences = [sentence_of(step) for step in steps]
    known = [one for one in sentences if one is not None]
    # Several files of one analysis may say the same.
    paragraph = " ".join([*dict.fromkeys(words for words, _ in known if words), _versions_sentence(versions)])
    references = list(dict.fromkeys([*(one for _, cited in known for one in cited), PAPER]))
    text = "\n\n".join([paragraph, "References", "\n".join(f"- {reference}" for reference in references)])
    run.say(text)
    for step, sentence in zip(steps, sentences, strict=True):
        if sentence is None:
            run.say(f"\nnote: not described above: {step.command}")
    if out is not None:
        from shapelex.files.atomic import write_atomically
        from shapelex.files.provenance import write_sidecar

        target = run.outputs.place(out)
        write_atomically(target, lambda stream: stream.write((text + "\n").encode()))
        write_sidecar(target, run.make_record(None, *files))
    told = [{"command": one.command, "name": one.name, "facts": one.facts} for one in steps]
    return {"paragraph": paragraph, "references": references, "steps": told, "versions": versions}


def _versions_sentence(versions: list[dict[str, str]]) -> str:
    told = []
    for one in versions:
        others = [f"{title} {one[name]}" for name, title in _PACKAGES.items() if name in one]
        told.append(f"shapelex {one.get('shapelex', '(version not recorded)')} (Python {one.get('python', '?')}"
                    f"{''.join(f', {other}' for other in others)})")  # fmt: skip
    return f"All computations were made with {' and '.join(told)}." if told else ""
