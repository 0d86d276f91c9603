"""
How many atoms?
===============

:func:`shapelex.suggest` proposes the number of atoms and the maximum number of atoms per shape, from errors on
held-out shapes and from the stability of the atoms. These shapes are sums of two of four atoms.
"""

import matplotlib.pyplot as plt

import shapelex as sx

sample = sx.datasets.make_from_dictionary(300, n_atoms=4, n_nonzero=2, noise=0.05, random_state=0)
found = sx.suggest(sample.shapes, n_atoms=[2, 3, 4, 5, 6], n_nonzero=[1, 2, 3], random_state=0)
print(found)

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
sx.plotting.plot_suggestion(found, ax=ax)
