"""
What decided about a leaf
=========================

:class:`shapelex.ShapeClassifier` chooses its methods by inner folds. ``explain`` shows one leaf between its nearest
neighbors in the predicted species (blue) and in the rival species (orange). Stretches in blue speak for the predicted
species, stretches in orange for its rival.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

import shapelex as sx

leaves = sx.datasets.make_leaves(20, 5, random_start=True, random_state=0)
train, test = train_test_split(np.arange(len(leaves)), stratify=leaves.labels, random_state=0)
model = sx.ShapeClassifier(random_state=0).fit(leaves[train])
print(f"accuracy on held-out leaves: {(model.predict(leaves[test]) == leaves.labels[test]).mean():.3f}")

leaf = next(row for row in test if leaves.labels[row] == "toothed")
explanation = model.explain(leaves.configurations[leaf], rival="ovate")
print(explanation.to_dataframe().round(2).to_string())

figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
explanation.plot(ax=ax)
