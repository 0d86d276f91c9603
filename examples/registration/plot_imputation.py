"""
Missing landmarks
=================

:func:`shapelex.impute` fills in missing landmarks with a dictionary, and measures its own error on landmarks that it
hides on purpose.
"""

import matplotlib.pyplot as plt
import numpy as np

import shapelex as sx

rng = np.random.default_rng(4)
worms = sx.datasets.make_worms(600, 1, 24, noise=0.004, random_state=4).configurations[::5]
train, test = worms[:100], worms[100:]
is_hidden = np.argsort(np.argsort(rng.random(test.shape), axis=1), axis=1) < 5  # five landmarks of each worm
model = sx.ShapeDictionary(n_atoms=10, n_nonzero=3, random_state=0, tol=1e-3).fit(train)
found = sx.impute(np.where(is_hidden, np.nan, test), model, reference=train)
print(found)

figure, axes = plt.subplots(1, 4, figsize=(6.4, 1.7), layout="constrained")
for ax, true, filled, hidden in zip(axes, test, found.configurations, is_hidden, strict=False):
    turn = np.exp(-1j * np.angle(true[-1] - true[0]))
    sx.plotting.plot_shape(turn * true, color="0.75", linewidth=1, ax=ax)
    sx.plotting.plot_shape((turn * true)[~hidden], color="black", points=True, linestyle="none", ax=ax)
    truth, guess = (turn * true)[hidden], (turn * filled)[hidden]
    ax.plot(truth.real, truth.imag, "o", color="0.5", markersize=6, fillstyle="none", label="true")
    ax.plot(guess.real, guess.imag, "o", color="tab:orange", markersize=3.2, label="filled in")
    ax.margins(0.08, 0.3)
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", frameon=False, ncols=2, fontsize=8)
