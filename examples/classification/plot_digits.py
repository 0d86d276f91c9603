"""
Classifying handwritten digits by their outlines
================================================

:class:`shapelex.CodeFeatures` computes features of shapes for any classifier of scikit-learn. The digits 6 and 9 are
confused, because their outlines are nearly the same shape up to rotation.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import shapelex as sx

digits = sx.datasets.load_digits_outlines(48)[:800]
dictionary = sx.ShapeDictionary(12, 3, coder="ormp", space=digits.space, random_state=0, tol=1e-3)
pipeline = make_pipeline(sx.CodeFeatures(dictionary=dictionary), SVC(C=10))
predicted = cross_val_predict(pipeline, digits.configurations, digits.labels, cv=3)
print(f"accuracy on held-out digits: {(predicted == digits.labels).mean():.3f}")

figure, ax = plt.subplots(figsize=(4.4, 4), layout="constrained")
ConfusionMatrixDisplay.from_predictions(digits.labels, predicted, cmap="Blues", colorbar=False, ax=ax)
