"""Units of length as WCON spells them: two units in, the ratio of one to the other out."""

import re

_PREFIXES = {"centi": 1e-2, "milli": 1e-3, "micro": 1e-6, "nano": 1e-9, "kilo": 1e3, "mega": 1e6, "giga": 1e9}
_SHORT_PREFIXES = {"c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "k": 1e3, "M": 1e6, "G": 1e9}
_LENGTHS = {"m": 1.0, "in": 0.0254, "micron": 1e-6, "microns": 1e-6, "inch": 0.0254, "inches": 0.0254}
_LENGTHS |= {f"{short}m": factor for short, factor in _SHORT_PREFIXES.items()}
for _word in ("meter", "metre", "meters", "metres"):
    _LENGTHS |= {_word: 1.0} | {f"{prefix}{_word}": factor for prefix, factor in _PREFIXES.items()}
_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?)|([A-Za-zµμ]+)|([*/]))\s*")


def unit_ratio(unit: object, reference: str) -> float:
    """Return how many `reference` units one `unit` is, such as 1000 for "m" in "mm".

    Equal units have ratio 1 even where they are unknown, such as pixels.

    Raises
    ------
    ValueError
        The units differ, and one is no length.
    """
    if unit == reference:
        return 1.0
    ratio = _in_meters(unit) / _in_meters(reference)
    # 0.001 / 1e-3 and the like should not leave rounding in coordinates.
    return float(f"{ratio:.12g}")


def _in_meters(unit: object) -> float:
    """Return the length of a unit such as ``"mm"``, ``"12*in"`` or ``"in/72"``."""
    if not isinstance(unit, str) or len(unit) > 100:
        raise ValueError("a unit must be a short text")
    value, n_lengths, place, operator = 1.0, 0, 0, "*"
    while place < len(unit):
        token = _TOKEN.match(unit, place)
        if token is None or bool(token[3]) == bool(operator):
            raise ValueError(f"{unit!r} is no unit of length")
        place, word = token.end(), token[2]
        if token[3]:
            operator = token[3]
            continue
        if word and word not in _LENGTHS:
            raise ValueError(f"{unit!r} is no unit of length")
        factor = _LENGTHS[word] if word else float(token[1])
        n_lengths += bool(word)
        if factor == 0 or (word and operator == "/"):
            raise ValueError(f"{unit!r} is no unit of length")
        value, operator = (value * factor if operator == "*" else value / factor), ""
    if n_lengths != 1 or operator or not 0 < value < float("inf"):
        raise ValueError(f"{unit!r} is no unit of length")
    return value
