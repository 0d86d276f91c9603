"""
One dictionary per class
========================

:class:`shapelex.ShapeDictionaryClassifier` learns a dictionary for each class and assigns a shape to the class that
approximates it best. The errors of held-out leaves in two of the classes separate these classes.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

import shapelex as sx

leaves = sx.datasets.make_leaves(30, 4, variation=0.25, random_state=0)
train, test = train_test_split(range(len(leaves)), stratify=leaves.labels, random_state=0)
model = sx.ShapeDictionaryClassifier(4, 2, n_swaps=10, random_state=0, tol=1e-2)
model.fit(leaves[train].configurations, leaves.labels[train])
test_leaves, test_labels = leaves[test].configurations, leaves.labels[test]
print(f"accuracy on held-out leaves: {model.score(test_leaves, test_labels):.3f}")

errors = model.class_errors(test_leaves)
first, second = 1, 2
figure, ax = plt.subplots(figsize=(4.6, 3.4), layout="constrained")
for label in model.classes_:
    chosen = test_labels == label
    ax.scatter(errors[chosen, first], errors[chosen, second], s=18, label=label)
ax.axline((0, 0), slope=1, color="0.7", linewidth=1)
ax.set(xlabel=f"error in class {model.classes_[first]}", ylabel=f"error in class {model.classes_[second]}")
ax.legend(frameon=False, title="species")
