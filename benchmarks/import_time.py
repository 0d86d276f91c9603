"""What ``import shapelex`` adds to ``import numpy``."""

import subprocess
import sys
from statistics import median

from measure import find_peer, print_table

STATEMENTS = {
    "import numpy": "import numpy",
    "import shapelex": "import numpy, shapelex",
    "first use of geometry": "import numpy, shapelex; shapelex.mean_shape",
    "import geomstats": "import numpy, geomstats.geometry.pre_shape",
}


def main(n_rounds: int = 9) -> None:
    seconds: dict[str, list[float]] = {}
    statements = dict(STATEMENTS)
    if find_peer("geomstats.geometry.pre_shape", "import time of geomstats") is None:
        del statements["import geomstats"]
    for _ in range(n_rounds):
        for name, statement in statements.items():
            code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
            result = subprocess.run(
                [sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True
            )
            seconds.setdefault(name, []).append(float(result.stdout.split()[-1]))
    medians = {name: median(values) for name, values in seconds.items()}
    base = medians["import numpy"]
    print_table(
        "Import time (not published)",
        ["statement", "median s", "beyond numpy"],
        [[name, f"{value:.3f}", f"{value - base:+.3f}"] for name, value in medians.items()],
    )
