"""scikit-learn estimators: thin classes over the functions below."""

from shapelex.estimators.align_first import AlignFirstDictionary
from shapelex.estimators.code_features import CodeFeatures
from shapelex.estimators.complex_pca import ComplexPCA
from shapelex.estimators.loading import load
from shapelex.estimators.shape_dictionary import ShapeDictionary
from shapelex.estimators.tangent_pca import TangentPCA

__all__ = ["AlignFirstDictionary", "CodeFeatures", "ComplexPCA", "ShapeDictionary", "TangentPCA", "load"]
