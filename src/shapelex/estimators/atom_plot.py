"""Dictionaries draw their atoms themselves."""

from typing import TYPE_CHECKING, Any

from shapelex.plotting import plot_atoms

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AtomPlotMixin:
    """The method ``plot`` of an estimator with the attributes ``atoms_`` and ``space_``."""

    def plot(self, **options: Any) -> "Axes":
        """Draw the atoms as a gallery, in a common pose, most used first.

        Parameters
        ----------
        **options
            Options of :func:`shapelex.plotting.plot_atoms`, such as `pose`, `n_columns`, `points` and `ax`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        See Also
        --------
        shapelex.plotting.plot_reconstructions : What the dictionary makes of shapes.
        """
        return plot_atoms(self, **options)
