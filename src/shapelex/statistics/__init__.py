"""Statistics of shapes: linear models, comparisons of groups, allometry, disparity, trajectories, symmetry."""

__all__: list[str] = []
