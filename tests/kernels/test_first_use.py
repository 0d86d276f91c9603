"""The first compilation of a process is announced once; what comes from numba's cache is not."""

import os
import subprocess
import sys

from shapelex.kernels.first_use import NOTICE

SCRIPT = """
import numba
import numpy as np
from shapelex.kernels.alignment import aligned_like

numba.njit(lambda x: x)(1)  # of others, and not in the cache
for dtype in ("float64", "float32"):
    aligned_like(3, np.zeros(2, dtype))
"""


def test_only_what_is_not_in_the_cache_is_announced(tmp_path):
    def messages():
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", SCRIPT]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr.splitlines()

    assert messages() == [NOTICE]
    assert messages() == []
