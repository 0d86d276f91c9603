"""Dense complex codes, as the transform of a dictionary returns them."""

import numpy as np

from shapelex._typing import ComplexArray

_EXPLANATION = (
    "These are the complex weights of a dictionary, which most estimators of scikit-learn refuse. CodeFeatures makes "
    "real columns of them: use make_pipeline(CodeFeatures(dictionary=ShapeDictionary(...)), LogisticRegression()) in "
    "place of make_pipeline(ShapeDictionary(...), LogisticRegression())."
)


class ComplexCodes(np.ndarray):
    """Complex weights, an ordinary array but for its text in error messages.

    scikit-learn refuses complex input by a message that ends with the input formatted as text. A step of a pipeline
    does not know the steps after it, so this text is the only place to explain what to do.
    """

    def __format__(self, specification: str) -> str:
        text = super().__format__(specification)
        return f"{text}\n{_EXPLANATION}" if self.ndim == 2 and self.dtype.kind == "c" else text

    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __array_wrap__(self, array: ComplexArray, context: object = None, return_scalar: bool = False) -> ComplexArray:  # type: ignore[override]
        """Return what is computed from codes as an ordinary array."""
        del context
        plain: ComplexArray = np.asarray(array)
        return plain[()] if return_scalar else plain
