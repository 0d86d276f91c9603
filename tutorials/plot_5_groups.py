r"""
Do the groups differ?
=====================

A comparison of groups from the first look at the data to the pictures for a paper: outliers, a linear model of shape,
pairs of groups, allometry, and several images of each animal. The specimens are simulated heads of fish from a lake and
a river; replace them by shapes of your own.
"""

# %%
# The data
# --------
#
# Each fish was photographed twice. Columns of the set say which fish, its sex, population and length. Males have a
# higher forehead, in the river more so; large fish have a longer snout.

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx
from shapelex import statistics as st

rng = np.random.default_rng(0)
head = np.array([0, 2 + 1.2j, 4 + 1.8j, 6 + 1.7j, 8.5 + 0.4j, 8.2 - 0.6j, 5.5 - 1.4j, 3 - 1.5j, 1 - 0.9j, 3.6 + 0.5j])
fish = np.repeat(np.arange(48), 2)
sex, pop = np.array(["female", "male"])[fish % 2], np.array(["lake", "river"])[fish // 24]
length = np.exp(rng.normal(2.5, 0.2, size=48))[fish]
X = head + (0.18 * rng.normal(size=(48, 10, 2)) @ [1, 1j])[fish] + 0.05 * rng.normal(size=(96, 10, 2)) @ [1, 1j]
X[:, [2, 3]] += (0.25j * (sex == "male") + 0.7j * ((sex == "male") & (pop == "river")))[:, None]
X[:, [4, 5]] += (1.5 * (np.log(length) - 2.5))[:, None]
X[17] = X[17, [0, 1, 3, 2, 4, 5, 6, 7, 8, 9]]  # two landmarks exchanged
shapes = sx.ShapeSet(length[:, None] * X, metadata={"fish": fish, "sex": sex, "pop": pop, "length": length})
print(shapes)

# %%
# Outliers
# --------
#
# Exchanged landmarks show as shapes that are far from the mean. Nothing is removed by itself: look at the shape, and
# correct or remove it.

print(st.outliers(shapes))
shapes = shapes[np.arange(96) != st.outliers(shapes).rows[0]]

# %%
# A linear model
# --------------
#
# Two photographs of a fish are not two fish. With ``unit="fish"``, the mean shapes of fish are compared. The length is
# a column of the set; the centroid size, ``size``, differs a little between two photographs, and would be refused.

fit = st.shape_lm("shape ~ log(length) + sex * pop", shapes, unit="fish")
print(fit)

# %%
# The interaction says that the sexes differ more in one population than in the other. The plane in which the fitted
# shapes differ most shows the groups:

figure, ax = plt.subplots(figsize=(5.4, 4.0), layout="constrained")
fit.plot(ax=ax)

# %%
# How much of the variation is due to taking the photograph and digitizing it?

print(st.measurement_error(shapes, "fish", permutations=99))

# %%
# Pairs of groups
# ---------------
#
# Least-squares means are predictions at the average length. The null model is the one without the interaction, so that
# P says whether a pair differs by more than sex and population alone would make it.

pairs = st.pairwise(fit, ["pop", "sex"])
print(pairs)

figure, ax = plt.subplots(figsize=(5.4, 3.0), layout="constrained")
pairs.plot(ax=ax)

# %%
# The path from females to males is longer in the river:

print(st.trajectories(fit, "pop", "sex"))

# %%
# Size
# ----
#
# The regression score is the position of a shape along the direction in which shape changes with size.

growth = st.allometry(shapes, size="length", unit="fish")
print(growth)

figure, ax = plt.subplots(figsize=(5.0, 3.8), layout="constrained")
growth.plot(ax=ax)

# %%
# Tables and words for the paper
# ------------------------------
#
# All results convert to data frames, which pandas writes as CSV, Excel or LaTeX. Report the shapes that were used and
# left out, the formula, what was permuted, and effect sizes beside P.

print(fit.to_dataframe().round(4).to_string(index=False))
print(f"{fit.n_used} photographs used, {len(fit.dropped)} left out.")
