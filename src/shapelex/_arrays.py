"""Convert torch tensors and arrays of the Python array API standard to NumPy arrays, and results to such arrays.

No library is imported here that the caller has not imported already.
"""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])


def is_tensor(value: Any) -> bool:
    """Return whether this is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_foreign(value: Any) -> bool:
    """Return whether this is an array of another library than NumPy that follows the standard, or a torch tensor."""
    if isinstance(value, np.ndarray | np.generic):
        return False
    return is_tensor(value) or hasattr(type(value), "__array_namespace__")


def to_numpy(array: Any) -> np.ndarray[Any, Any]:
    """Return the entries of a foreign array in the memory of the host; memory is shared where it is there already."""
    if is_tensor(array):
        plain: np.ndarray[Any, Any] = array.detach().cpu().resolve_conj().resolve_neg().numpy()
        return plain
    try:
        return np.asarray(array)
    except (TypeError, RuntimeError):
        # Libraries for GPUs refuse silent copies to the host.
        return np.from_dlpack(array, device="cpu")


def as_kind_of(result: Any, like: Any) -> Any:
    """Return a NumPy array of numbers as an array of the library and on the device of `like`; all else as it is."""
    if not isinstance(result, np.ndarray | np.generic) or result.dtype.kind not in "biufc":
        return result
    if is_tensor(like):
        import torch

        # A copy where the array is closed to writing: torch would warn.
        array = np.asarray(result)
        return torch.from_numpy(array if array.flags.writeable else array.copy()).to(like.device)
    return like.__array_namespace__().asarray(np.asarray(result), device=like.device)


def is_on_device(value: Any, device: str | None) -> bool:
    """Return whether this is a tensor that is not on the CPU but on the device of a name such as ``"cuda"``."""
    if device is None or device in ("cpu", "torch") or not is_tensor(value) or value.device.type == "cpu":
        return False
    import torch

    wanted, found = torch.device(device), value.device
    if str(wanted) == "cuda":
        wanted = torch.device("cuda", torch.cuda.current_device())
    return bool(wanted == found)


def keeps_array_kind(function: Function) -> Function:
    """Make a function that computes with NumPy return arrays of the kind of its first array that is not NumPy's.

    A method of an estimator gets tensors unchanged where they are on the device of the estimator.
    """

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        like = next((value for value in (*args, *options.values()) if is_foreign(value)), None)
        if like is None:
            return function(*args, **options)
        device = None if is_foreign(args[0]) else getattr(args[0], "device", None)
        if not is_on_device(like, device):
            args = tuple(to_numpy(value) if is_foreign(value) else value for value in args)
            options = {name: to_numpy(value) if is_foreign(value) else value for name, value in options.items()}
        return as_kind_of(function(*args, **options), like)

    return call  # type: ignore[return-value]
