"""scikit-learn estimators: thin classes over the functions below."""

from shapelex.estimators.align_first import AlignFirstDictionary
from shapelex.estimators.code_features import CodeFeatures
from shapelex.estimators.comparison import Comparison, compare
from shapelex.estimators.complex_pca import ComplexPCA
from shapelex.estimators.imputation import Imputation, impute
from shapelex.estimators.invariance_report import InvarianceReport, invariance_report
from shapelex.estimators.loading import load
from shapelex.estimators.outline_registration import OutlineRegistration
from shapelex.estimators.procrustes_kernel import ProcrustesKernel
from shapelex.estimators.riemannian_dictionary import RiemannianDictionary
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.estimators.shape_dictionary_classifier import ShapeDictionaryClassifier
from shapelex.estimators.suggestion import Suggestion, suggest
from shapelex.estimators.tangent_pca import TangentPCA

__all__ = [
    "AlignFirstDictionary",
    "CodeFeatures",
    "Comparison",
    "ComplexPCA",
    "Imputation",
    "InvarianceReport",
    "OutlineRegistration",
    "ProcrustesKernel",
    "RiemannianDictionary",
    "ShapeDictionary",
    "ShapeDictionaryClassifier",
    "Suggestion",
    "TangentPCA",
    "compare",
    "impute",
    "invariance_report",
    "load",
    "suggest",
]
