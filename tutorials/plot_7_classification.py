"""
Telling shapes apart
====================

This tutorial classifies simulated leaves whose outlines start anywhere. It shows how to read what the classifier chose,
how to report an accuracy, what decided about a single shape, and how to check probabilities.
"""

# %%
# Fit a classifier
# ----------------
#
# :class:`shapelex.ShapeClassifier` compares several methods by folds of the training shapes. A set of shapes knows its
# space and its labels. The outlines start at random points, as outlines of segmented images do, and the leaves of one
# plant (here: five leaves each) belong together, so they must not be split between folds.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold

import shapelex as sx

leaves = sx.datasets.make_leaves(30, 5, variation=0.2, random_start=True, random_state=0)
plant = np.arange(len(leaves)) // 5
train, test = next(GroupShuffleSplit(1, test_size=0.3, random_state=0).split(leaves.labels, groups=plant))
model = sx.ShapeClassifier(random_state=0).fit(leaves[train], groups=plant[train])
print(model.scores_.round(3).to_string())

# %%
# Each row is a method, in the registration that it was tried with: outlines as they come, with common start points, or
# with common start points and reflections. ``accuracy`` and ``log_loss`` are those of held-out training shapes.
# The methods with a weight make up the prediction, whose own scores are in the last row.

# %%
# Report an accuracy
# ------------------
#
# These scores were used to choose settings and weights. An accuracy to report comes from shapes that took no part.

predicted = model.predict(leaves[test])
print(f"accuracy on leaves of other plants: {(predicted == leaves.labels[test]).mean():.3f}")

figure, ax = plt.subplots(figsize=(4.4, 4), layout="constrained")
ConfusionMatrixDisplay.from_predictions(
    leaves.labels[test], predicted, cmap="Blues", colorbar=False, xticks_rotation=30, ax=ax
)

# %%
# Ask what decided
# ----------------
#
# The shape in the middle is colored by how much each stretch speaks for the predicted class (blue) or for its rival
# (orange). The nearest training shapes of both classes are on its sides, with the shape itself in gray.

leaf = test[np.argmin(model.predict_proba(leaves[test]).max(axis=1))]
explanation = model.explain(leaves.configurations[leaf])
print(explanation)

figure, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
explanation.plot(ax=ax)

# %%
# Are the probabilities right?
# ----------------------------
#
# Of the shapes that get a class with a probability of 60 %, about 60 % should have this class. Ovate and obovate leaves
# are almost the same shape run the other way, and the probabilities should say so. Probabilities of all leaves come
# from three folds that do not split a plant, and are compared in four groups of equal size.

probabilities = np.empty((len(leaves), 5))
for kept, held in StratifiedGroupKFold(3).split(leaves.labels, leaves.labels, plant):
    fitted = sx.ShapeClassifier(random_state=0).fit(leaves[kept], groups=plant[kept])
    probabilities[held] = fitted.predict_proba(leaves[held])
is_right = model.classes_[np.argmax(probabilities, axis=1)] == leaves.labels
certainty = probabilities.max(axis=1)
for members in np.array_split(np.argsort(certainty), 4):
    print(
        f"{len(members)} leaves, probability {certainty[members].min():.2f} to {certainty[members].max():.2f}: "
        f"mean probability {certainty[members].mean():.2f}, share of right predictions {is_right[members].mean():.2f}"
    )

# %%
# Features for other methods
# --------------------------
#
# :class:`shapelex.OutlineConvolutions` is one of the methods inside. By itself it is a transformer for any pipeline,
# and its features depend neither on the pose nor on the start point.

convolutions = sx.OutlineConvolutions(random_state=0).fit(leaves[train])
features = convolutions.transform(leaves[test])
moved = convolutions.transform(2j * leaves.space.roll(leaves[test].configurations, 17) + 5)
print(f"{features.shape[1]} features, changed by at most {np.abs(features - moved).max():.1e}")

# %%
# Next: :doc:`/how-to/classification` compares all methods on sixteen real sets, and :doc:`/theory/classification`
# defines what is computed.
