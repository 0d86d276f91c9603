"""Match the atoms of two dictionaries, and say which atoms are found again."""

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from shapelex._typing import ComplexArray, FloatArray
from shapelex.geometry.distances import row_distances
from shapelex.shapes.summary import html_text

if TYPE_CHECKING:
    import pandas as pd

# An atom can be named where its distance to its matches is at most this fraction of the distance by chance.
NAMED_RATIO = 0.5


def matched_distances(first: ComplexArray, second: ComplexArray) -> FloatArray:
    """Match whitened atoms one to one such that the sum of squared full distances is least; return the distances.

    Examples
    --------
    >>> import numpy as np
    >>> atoms = np.eye(3, dtype=complex)
    >>> matched_distances(atoms, 1j * atoms[[2, 0, 1]])
    array([0., 0., 0.])
    """
    _, matches = linear_sum_assignment(1 - np.abs(first.conj() @ second.T) ** 2)
    return row_distances(first, second[matches]).astype(np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class DictionaryStability:
    """Distances from the atoms of a dictionary to their matches in dictionaries learned from halves of the shapes.

    Two dictionaries are learned from two random halves of the shapes, with the same options and other seeds, and the
    atoms are matched one to one such that the sum of the squared full Procrustes distances is smallest. An atom whose
    matches are near is a property of the shapes; one whose matches are as far as random shapes is a result of the seed
    or of the particular sample, and should not be named or interpreted. Printed, it is a table.

    Parameters
    ----------
    distances : ndarray of float, shape (n_atoms,)
        Full distance from each atom to its match, averaged over the two halves.
    chance : ndarray of float, shape (n_atoms,)
        The same distance where random shapes of a half take the place of its atoms, averaged over 20 draws. It differs
        from atom to atom: an atom like most of the shapes is near to some of any shapes.
    between_halves : float
        Mean distance from the atoms of one half to their matches in the dictionary of the other half.
    chance_between_halves : float
        The same for as many random shapes of each half, averaged over 20 draws.
    n_shapes : int
        Number of shapes in the two halves together.

    Notes
    -----
    All distances are NaN where a half has fewer distinct shapes than the dictionary has atoms, or where a landmark is
    missing in all of its shapes: then nothing is known, and no atom can be named.

    Examples
    --------
    >>> import numpy as np
    >>> from shapelex.geometry.matching import DictionaryStability
    >>> found = DictionaryStability(np.array([0.02, 0.15]), np.array([0.2, 0.2]), 0.09, 0.21, n_shapes=300)
    >>> found.can_be_named
    array([ True, False])
    >>> print(found)
    1 of 2 atoms can be named: those that, learned again from halves of 300 shapes, are at most half as far from
    their matches as from random shapes. Mean distance 0.085, by chance 0.200; between the halves 0.090, by chance
    0.210.
    atom  distance  by chance  ratio  can be named
       0     0.020      0.200   0.10  yes
       1     0.150      0.200   0.75  no
    """

    distances: FloatArray
    chance: FloatArray
    between_halves: float
    chance_between_halves: float
    n_shapes: int

    @property
    def ratio(self) -> FloatArray:
        """Distance of each atom divided by the distance by chance: 0 for an atom that is found again exactly."""
        return self.distances / np.maximum(self.chance, np.finfo(float).tiny)

    @property
    def can_be_named(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each atom is found again: its distance is at most half of the distance by chance."""
        return self.distances <= NAMED_RATIO * self.chance

    @property
    def is_known(self) -> bool:
        """Whether there were enough shapes to measure it."""
        return bool(np.isfinite(self.between_halves))

    def summary(self) -> str:
        """Describe the result in words.

        Returns
        -------
        str
            How many atoms can be named, the mean distances, and the distance by chance; or why nothing is known.
        """
        n_atoms, n_named = len(self.distances), int(self.can_be_named.sum())
        if not self.is_known:
            return (
                f"{self.n_shapes} shapes are too few to tell which of {n_atoms} atoms can be named: each half of the "
                f"shapes must have {n_atoms} distinct ones or more, and each landmark. Learn fewer atoms or add shapes."
            )
        return (
            f"{n_named or 'None'} of {n_atoms} atoms can be named: those that, learned again from halves of "
            f"{self.n_shapes} shapes, are at most half as far from their matches as from random shapes. Mean distance "
            f"{self.distances.mean():.3f}, by chance {self.chance.mean():.3f}; between the halves "
            f"{self.between_halves:.3f}, by chance {self.chance_between_halves:.3f}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON values, without NaN.

        Returns
        -------
        dict
            ``summary`` in words, ``distances``, ``chance``, ``between_halves``, ``chance_between_halves``,
            ``can_be_named`` and ``n_shapes``; distances are None where they are not known.
        """
        names = ("distances", "chance", "between_halves", "chance_between_halves")
        measured = {name: np.asarray(getattr(self, name)).tolist() if self.is_known else None for name in names}
        named = {"can_be_named": self.can_be_named.tolist(), "n_shapes": self.n_shapes}
        return {"summary": self.summary(), **measured, **named}

    def to_dataframe(self) -> "pd.DataFrame":
        """Table of the atoms as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            Columns ``atom``, ``distance``, ``chance``, ``ratio`` and ``can_be_named``; one row per atom.
        """
        import pandas as pd

        atoms = {"atom": np.arange(len(self.distances)), "distance": self.distances, "chance": self.chance}
        return pd.DataFrame(atoms | {"ratio": self.ratio, "can_be_named": self.can_be_named})

    def __repr__(self) -> str:
        return f"<DictionaryStability: {self.summary()}>"

    def __str__(self) -> str:
        lines = wrap(self.summary(), 112)
        if self.is_known:
            lines.append("atom  distance  by chance  ratio  can be named")
            columns = zip(self.distances, self.chance, self.ratio, self.can_be_named, strict=True)
            for atom, (distance, chance, ratio, named) in enumerate(columns):
                lines.append(f"{atom:4}  {distance:8.3f}  {chance:9.3f}  {ratio:5.2f}  {'yes' if named else 'no'}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return what notebooks show: the table as it is printed."""
        return html_text(str(self))
