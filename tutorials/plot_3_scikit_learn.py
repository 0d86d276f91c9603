"""
A scikit-learn pipeline
=======================

This tutorial uses shapes as input of scikit-learn: it computes features, runs a cross-validation, searches for the best
parameters, and explains which error to report. The data are outlines of handwritten digits.
"""

# %%
# Shapes as arrays
# ----------------
#
# All estimators take complex arrays ``(n_shapes, n_coordinates)`` or real arrays ``(n_shapes, n_points, 2)``, and the
# space that defines the meaning of the coordinates. Without ``space``, they are landmarks of an open curve.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import shapelex as sx

digits = sx.datasets.load_digits_outlines(48)
chosen = np.isin(digits.labels, ["0", "1", "2", "3", "4", "5"])
X, y, space = digits.configurations[chosen][:600], digits.labels[chosen][:600], digits.space
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
print(X_train.shape, X_train.dtype, space)

# %%
# A transformer
# -------------
#
# :class:`shapelex.ShapeDictionary` follows the interface of scikit-learn: ``fit``, ``transform``,
# ``inverse_transform``, ``score``. ``score`` is the negative root mean square error, so larger is better.

dictionary = sx.ShapeDictionary(n_atoms=12, n_nonzero=3, space=space, random_state=0, tol=1e-3).fit(X_train)
codes = dictionary.transform(X_test)
print("codes:", codes.shape, codes.dtype)
print(
    f"training error {-100 * dictionary.score(X_train):.2f} %, held-out error {-100 * dictionary.score(X_test):.2f} %"
)

figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
sx.plotting.plot_atoms(dictionary.atoms_, space, usage=dictionary.usage_, n_columns=6, ax=ax)

# %%
# Real features
# -------------
#
# Codes are complex and change their angles when a shape is rotated, so classifiers cannot use them directly.
# :class:`shapelex.CodeFeatures` contains a dictionary and returns real features that do not depend on the pose. In a
# pipeline, the dictionary is learned from the training part of every fold only.

features = sx.CodeFeatures(dictionary=sx.ShapeDictionary(12, 3, space=space, random_state=0, tol=1e-3))
classifiers = {
    "logistic regression": make_pipeline(features, StandardScaler(), LogisticRegression(max_iter=2000)),
    "support vector machine": make_pipeline(features, SVC(C=10)),
}
for name, classifier in classifiers.items():
    scores = cross_val_score(classifier, X_train, y_train, cv=3)
    print(f"{name}: accuracy {scores.mean():.3f} ± {scores.std():.3f} in three folds")

# %%
# Search
# ------
#
# A grid search sets the parameters of the dictionary by their names in the pipeline.

search = GridSearchCV(
    classifiers["support vector machine"],
    {"codefeatures__dictionary__n_atoms": [8, 16], "codefeatures__dictionary__n_nonzero": [2, 4]},
    cv=3,
).fit(X_train, y_train)
print(search.best_params_)
print(f"accuracy on digits that took no part in the search: {search.score(X_test, y_test):.3f}")

figure, ax = plt.subplots(figsize=(4, 3.6), layout="constrained")
ConfusionMatrixDisplay.from_estimator(search, X_test, y_test, cmap="Blues", colorbar=False, ax=ax)

# %%
# Other estimators
# ----------------
#
# :class:`shapelex.ShapeDictionaryClassifier` learns one dictionary per class, and :class:`shapelex.ProcrustesKernel`
# is a kernel for support vector machines that needs no dictionary.

classifier = sx.ShapeDictionaryClassifier(6, 2, space=space, n_swaps=10, random_state=0, tol=1e-2).fit(X_train, y_train)
kernel = make_pipeline(sx.ProcrustesKernel(space=space), SVC(C=10, kernel="precomputed")).fit(X_train, y_train)
print(f"one dictionary per class: {classifier.score(X_test, y_test):.3f}")
print(f"Procrustes kernel: {kernel.score(X_test, y_test):.3f}")

# %%
# Next: :doc:`/how-to/classification` compares these classifiers on real data.
