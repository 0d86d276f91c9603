"""What a fitted object consists of, declared once as a table of parts, and how each part goes into a file and back.

What is read is checked against the table: kind, shape in terms of named sizes, finite numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from shapelex.exceptions import ModelFileError
from shapelex.files.archive import as_plain, build_space, describe_space
from shapelex.spaces import Space

_DTYPES = {
    "complex": (np.complex64, np.complex128),
    "complex128": (np.complex128,),
    "float": (np.float32, np.float64),
    "int": (np.int64,),
}


@dataclass
class Fields:
    """Arrays and JSON values of one object, on their way to a file or back; reading takes the arrays out.

    `sizes` are the named lengths that are known: ``n_coordinates``, parameters, and counts already read.
    """

    space: Space
    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def take_array(self, name: str) -> np.ndarray[Any, Any]:
        """Return an array and forget it."""
        if name not in self.arrays:
            raise ValueError(f"{name} is missing")
        return self.arrays.pop(name)

    def result(self, name: str) -> Any:
        """Return a JSON value."""
        if name not in self.results:
            raise ValueError(f"{name} is missing")
        return self.results[name]


@dataclass(frozen=True)
class Part(ABC):
    """One attribute of a fitted object; `name` is that of the attribute and, where no other is given, in the file."""

    name: str

    @abstractmethod
    def write(self, owner: Any, fields: Fields) -> None:
        """Put the attribute of `owner` among the fields."""

    @abstractmethod
    def read(self, owner: Any, fields: Fields) -> None:
        """Give `owner` the attribute; raise ValueError where the fields hold none that fits."""


@dataclass(frozen=True)
class Array(Part):
    """An array of finite numbers; a size in `shape` that is not known yet is set by the first array that has it.

    NaN is allowed only where `allows_nan` says so; infinity never is.
    """

    kind: Literal["complex", "complex128", "float", "int"]
    shape: tuple[str, ...]
    optional: bool = False
    allows_nan: bool = False

    def write(self, owner: Any, fields: Fields) -> None:
        """Put the array among the fields, where there is one."""
        if not self.optional or hasattr(owner, self.name):
            fields.arrays[self.name] = np.asarray(getattr(owner, self.name))

    def read(self, owner: Any, fields: Fields) -> None:
        """Check the array."""
        if self.optional and self.name not in fields.arrays:
            return
        array = fields.take_array(self.name)
        if array.ndim == len(self.shape):
            expected = tuple(map(fields.sizes.setdefault, self.shape, array.shape))
        else:
            expected = tuple(fields.sizes.get(size, -1) for size in self.shape)
        if array.shape != expected or array.dtype not in _DTYPES[self.kind]:
            sizes = ", ".join(f"{size}={fields.sizes.get(size, 'any')}" for size in self.shape)
            raise ValueError(f"{self.name} must be {self.kind} ({sizes}), got {array.dtype} {array.shape}")
        if not _is_sound(array, self.allows_nan):
            raise ValueError(f"{self.name} must be finite, but holds NaN or infinity")
        setattr(owner, self.name, array)


@dataclass(frozen=True)
class Labels(Part):
    """Sorted names or numbers of classes, at least one; `size` is how many there are."""

    size: str

    def write(self, owner: Any, fields: Fields) -> None:
        """Put the labels among the fields, text in arrays of objects as such."""
        labels = np.asarray(getattr(owner, self.name))
        if labels.dtype.kind in "OT":
            if not all(isinstance(label, str) for label in labels.tolist()):
                raise ModelFileError(
                    "The labels of the classes are Python objects, which a model file cannot hold: use text or "
                    "numbers as labels, or pickle the estimator instead."
                )
            labels = np.array(labels.tolist(), dtype=np.str_)
        fields.arrays[self.name] = labels

    def read(self, owner: Any, fields: Fields) -> None:
        """Check the labels."""
        labels = fields.take_array(self.name)
        is_sound = labels.ndim == 1 and labels.size > 0 and labels.dtype.kind in "USbiuf"
        if not is_sound or not np.array_equal(np.unique(labels), labels):
            raise ValueError(f"{self.name} must be different text or numbers in order")
        fields.sizes[self.size] = len(labels)
        setattr(owner, self.name, labels)


@dataclass(frozen=True)
class Number(Part):
    """A finite number, or NaN where `allows_nan` says so."""

    allows_nan: bool = False

    def write(self, owner: Any, fields: Fields) -> None:
        """Put the number among the fields."""
        fields.results[self.name] = as_plain(getattr(owner, self.name))

    def read(self, owner: Any, fields: Fields) -> None:
        """Check the number."""
        value = fields.result(self.name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_sound(value, self.allows_nan):
            raise ValueError(f"{self.name} must be a finite number, got {value!r}")
        setattr(owner, self.name, float(value))


@dataclass(frozen=True)
class Count(Number):
    """A number of things, which is a size for the arrays below it in the table."""

    def read(self, owner: Any, fields: Fields) -> None:
        """Check the count."""
        value = fields.result(self.name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ValueError(f"{self.name} must be a count, got {value!r}")
        fields.sizes[self.name] = value
        setattr(owner, self.name, value)


@dataclass(frozen=True)
class Group(Part):
    """An object that `make` makes of its parts, by keyword; the names of the parts begin with `prefix` in the file."""

    make: Callable[..., Any]
    prefix: str
    parts: tuple[Part, ...]
    optional: bool = False

    def write(self, owner: Any, fields: Fields) -> None:
        """Put the parts of the object among the fields, where there is one."""
        if self.optional and getattr(owner, self.name, None) is None:
            return
        made = getattr(owner, self.name)
        named = {part.name: getattr(made, part.name.removeprefix(self.prefix)) for part in self.parts}
        for part in self.parts:
            part.write(SimpleNamespace(**named), fields)

    def read(self, owner: Any, fields: Fields) -> None:
        """Make the object of its parts."""
        if self.optional and not any(part.name in fields.arrays or part.name in fields.results for part in self.parts):
            return
        named = SimpleNamespace()
        for part in self.parts:
            part.read(named, fields)
        made = self.make(**{name.removeprefix(self.prefix): value for name, value in vars(named).items()})
        setattr(owner, self.name, made)


@dataclass(frozen=True)
class OtherSpace(Part):
    """A second space of as many coordinates, which may be the first one; `key` is its name in the file."""

    key: str

    def write(self, owner: Any, fields: Fields) -> None:
        """Put the description of the space among the fields, None for the first one."""
        fields.results[self.key] = None
        if getattr(owner, self.name) is not fields.space:
            fields.results[self.key], arrays = describe_space(getattr(owner, self.name))
            fields.arrays |= {f"{self.key}_{name}": array for name, array in arrays.items()}

    def read(self, owner: Any, fields: Fields) -> None:
        """Build the space."""
        description, space = fields.result(self.key), fields.space
        if description is not None:
            names = [name for name in fields.arrays if name.startswith(f"{self.key}_")]
            arrays = {name.removeprefix(f"{self.key}_"): fields.arrays.pop(name) for name in names}
            space = build_space(description, arrays)
        if space.n_coordinates != fields.space.n_coordinates:
            raise ValueError(f"{self.name} must have {fields.space.n_coordinates} coordinates, got {space}")
        setattr(owner, self.name, space)


class Schema:
    """What a model file holds of an estimator.

    Parameters
    ----------
    *parts : Part
        What the fitted estimator consists of, beside its parameters, its space and ``n_features_in_``.
    left_out : tuple of str
        Parameters that are not saved.
    removed : tuple of str
        Parameters and arrays that files of earlier versions hold, and that the estimator no longer has.
    renewed : mapping of str to callable
        Parameters whose values in files of earlier versions may not be allowed any more, with a function that returns
        the value to use instead.
    """

    def __init__(
        self,
        *parts: Part,
        left_out: tuple[str, ...] = (),
        removed: tuple[str, ...] = (),
        renewed: Mapping[str, Callable[[Any], Any]] | None = None,
    ) -> None:
        self.parts, self.left_out, self.removed, self.renewed = parts, left_out, removed, renewed or {}


def _is_sound(value: Any, allows_nan: bool) -> bool:
    return bool(np.all(np.isfinite(value) | (allows_nan & np.isnan(value))))
