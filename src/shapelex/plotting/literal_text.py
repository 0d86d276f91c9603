"""Text of the data and of the caller, such as labels and ids, which is drawn as it is written."""


def literal(text: object) -> str:
    r"""Return `text` such that matplotlib draws all its characters, dollar signs included.

    matplotlib takes what stands between two dollar signs for a formula, draws it otherwise, and fails where it cannot
    parse it. Escaped signs are drawn as they are. The setting ``text.parse_math`` is no alternative: it stays with the
    titles and tick labels of the axes, where formulas of users and the powers of ten of log axes must be parsed.

    Examples
    --------
    >>> literal("$x_{y$")
    '\\$x_{y\\$'
    """
    from matplotlib import rcParams

    return str(text).replace("$", r"\$") if rcParams["text.parse_math"] else str(text)
