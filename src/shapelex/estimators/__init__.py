"""scikit-learn estimators of shapes."""

from shapelex.estimators.align_first import AlignFirstDictionary
from shapelex.estimators.code_features import CodeFeatures
from shapelex.estimators.complex_pca import ComplexPCA
from shapelex.estimators.decision_explanation import Explanation
from shapelex.estimators.outline_convolutions import OutlineConvolutions
from shapelex.estimators.outline_registration import OutlineRegistration
from shapelex.estimators.piece_correlations import PieceCorrelations
from shapelex.estimators.procrustes_kernel import ProcrustesKernel
from shapelex.estimators.shape_classifier import ShapeClassifier
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.estimators.shape_dictionary_classifier import ShapeDictionaryClassifier
from shapelex.estimators.tangent_pca import TangentPCA

__all__ = [
    "AlignFirstDictionary",
    "CodeFeatures",
    "ComplexPCA",
    "Explanation",
    "OutlineConvolutions",
    "OutlineRegistration",
    "PieceCorrelations",
    "ProcrustesKernel",
    "ShapeClassifier",
    "ShapeDictionary",
    "ShapeDictionaryClassifier",
    "TangentPCA",
]
