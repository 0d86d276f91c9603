"""The first compilation of a process is announced once; what comes from numba's cache is not."""

import os
import subprocess
import sys

from shapelex.kernels.first_use import NOTICE

SCRIPT = """
import numba
import numpy as np
from shapelex.kernels.alignment import aligned_like

numba.njit(lambda x: x)(1)
for dtype in DTYPES:
    aligned_like(3, np.zeros(2, dtype))
"""


def test_only_what_is_not_in_the_cache_is_announced(tmp_path):
    def messages(dtypes):
        code = SCRIPT.replace("DTYPES", dtypes)
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        return done.stderr.splitlines()

    assert messages("()") == []
    assert messages("('float64', 'float32')") == [NOTICE]
    assert messages("('float64', 'float32')") == []
