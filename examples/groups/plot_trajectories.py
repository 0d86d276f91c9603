"""
Trajectories
============

:func:`shapelex.statistics.trajectories` compares how groups change through the same series of points. Two simulated
populations of fish start from similar juveniles; one of them changes further, and in another direction.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import shapelex as sx

rng = np.random.default_rng(2)
head = np.array([0, 2 + 1.2j, 4 + 1.8j, 6 + 1.7j, 8.5 + 0.4j, 8.2 - 0.6j, 5.5 - 1.4j, 3 - 1.5j, 1 - 0.9j, 3.6 + 0.5j])
age, pop = np.tile([0, 1, 2], 40), np.repeat(["lake", "river"], 60)
deeper, longer = np.zeros((2, 10), dtype=complex)
deeper[[2, 3, 6, 7]], longer[[4, 5]] = [0.3j, 0.3j, -0.3j, -0.3j], [0.6, 0.6]
change = np.where((pop == "lake")[:, None], deeper, 0.6 * deeper + 0.8 * longer)
X = head + age[:, None] * change + 0.12 * rng.normal(size=(120, 10, 2)) @ [1, 1j]
data = pd.DataFrame({"pop": pop, "age": pd.Categorical.from_codes(age, ["juvenile", "subadult", "adult"])})

fit = sx.statistics.shape_lm("shape ~ pop * age", X, data, permutations=499)
paths = sx.statistics.trajectories(fit, "pop", "age")
print(paths)

figure, ax = plt.subplots(figsize=(5.0, 3.8), layout="constrained")
paths.plot(ax=ax)
