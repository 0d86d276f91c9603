"""Frame rates in files: intervals with a unit of time, or rates, come in; frames per second go out.

A rate that is no positive number counts as not known, since files have 0 and NaN where nobody measured it.
"""

from typing import Any

import numpy as np

_SECONDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "usec", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}


def as_rate(value: Any) -> float | None:
    """Return a rate that a file gives as a number, or as an array of one; None where it is none."""
    numbers = np.asarray(value)
    if numbers.size != 1 or numbers.dtype.kind not in "iuf":
        return None
    rate = float(numbers.item())
    return rate if 0 < rate < np.inf else None


def rate_of_step(step: Any, unit: object) -> float | None:
    """Return the frames per second of frames that are `step` units of time apart; None where the unit is none."""
    length = _SECONDS.get(unit.strip().lower()) if isinstance(unit, str) else None
    given = as_rate(step)
    # Times are decimal numbers, which leave rounding in 1 / (0.1 + 0.2 - 0.2).
    return None if length is None or given is None else float(f"{1 / (given * length):.9g}")
