"""scikit-learn estimators of shapes."""

from shapelex.estimators.align_first import AlignFirstDictionary
from shapelex.estimators.code_features import CodeFeatures
from shapelex.estimators.decision_explanation import Explanation
from shapelex.estimators.outline_convolutions import OutlineConvolutions
from shapelex.estimators.outline_registration import OutlineRegistration
from shapelex.estimators.principal_components import ComplexPCA, TangentPCA
from shapelex.estimators.procrustes_kernel import ProcrustesKernel
from shapelex.estimators.shape_classifier import ShapeClassifier
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.estimators.shape_dictionary_classifier import ShapeDictionaryClassifier

__all__ = [
    "AlignFirstDictionary",
    "CodeFeatures",
    "ComplexPCA",
    "Explanation",
    "OutlineConvolutions",
    "OutlineRegistration",
    "ProcrustesKernel",
    "ShapeClassifier",
    "ShapeDictionary",
    "ShapeDictionaryClassifier",
    "TangentPCA",
]
