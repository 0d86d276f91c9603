"""Missing landmarks, filled in from complete shapes or from a dictionary."""

from shapelex.imputation.completion import Imputation, impute

__all__ = ["Imputation", "impute"]
