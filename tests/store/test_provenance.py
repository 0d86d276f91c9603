"""The description of a run."""

import json
import platform

import shapelex as sx
from shapelex.store.provenance import describe_run


def test_says_what_ran_and_with_what():
    run = describe_run("shapelex reproduce -o here", 7)
    assert (run["command"], run["seed"]) == ("shapelex reproduce -o here", 7)
    assert run["versions"]["python"] == platform.python_version()
    assert {"numpy", "scipy", "numba", "scikit-learn"} <= set(run["versions"])
    assert run["versions"]["shapelex"] == sx.__version__
    assert json.loads(json.dumps(run)) == run
