"""scikit-learn estimators: thin classes over the functions below."""

from shapelex.estimators.code_features import CodeFeatures
from shapelex.estimators.loading import load
from shapelex.estimators.procrustes_kernel import ProcrustesKernel
from shapelex.estimators.riemannian_dictionary import RiemannianDictionary
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.estimators.shape_dictionary_classifier import ShapeDictionaryClassifier

__all__ = [
    "CodeFeatures",
    "ProcrustesKernel",
    "RiemannianDictionary",
    "ShapeDictionary",
    "ShapeDictionaryClassifier",
    "load",
]
