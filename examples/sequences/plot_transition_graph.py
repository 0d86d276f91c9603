"""
How states follow each other
============================

States of behavior are clusters of postures here. The area of a disk is the share of the time, and an arrow is as wide
as the probability that its second state follows the first. The bars show how long a bout lasts.
"""

import matplotlib.pyplot as plt

import shapelex as sx

recording = sx.datasets.make_behavior(600, 3, n_states=4, random_state=0)
model = sx.ShapeDictionary(n_atoms=5, n_nonzero=2, tol=1e-3, random_state=0).fit(recording)
result = sx.sequences.encode_sequence(recording, model, switch_cost=0.02)
states = sx.sequences.find_states(result, "cluster", n_states=4)

figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 2.8), width_ratios=[1.3, 1], layout="constrained")
result.plot("transitions", states=states, min_duration=5, ax=left)
dwell = sx.sequences.dwell(result, states, min_duration=5)
right.barh(dwell["state"], dwell["mean"], color="tab:gray")
right.invert_yaxis()
right.set_xlabel("mean duration of a bout (s)")
