"""Shares of responses above thresholds on any torch device: the twin of :mod:`shapelex.kernels.convolutions`."""

from collections.abc import Sequence

import torch
from torch import Tensor

from shapelex.kernels.convolutions import KERNELS, N_TAPS


def convolve(
    signals: Tensor, margins: Sequence[int], closed: bool, dilations: Sequence[int], thresholds: Tensor, slopes: Tensor
) -> Tensor:
    """Return the mean ramps ``(n_rows, n_features)`` of signals ``(n_rows, n_signals, n_samples)``.

    Thresholds ``(n_signals, n_dilations, n_kernels, n_thresholds)`` and slopes ``(n_signals, n_dilations, n_kernels)``
    are those of :func:`shapelex.kernels.convolutions.convolve_batch`; sums may round otherwise.
    """
    n_samples = signals.shape[2]
    chosen = torch.from_numpy(KERNELS).to(signals.device)
    shares = []
    for number, margin in enumerate(margins):
        signal = signals[:, number, margin : n_samples - margin]
        for place, dilation in enumerate(dilations):
            taps = _taps(signal, dilation, closed)
            # One response (n_rows, n_kernels, n_responses) at a time fits in memory, thresholds in turn.
            responses = -taps.sum(dim=1, keepdim=True) + 3 * sum(taps[:, chosen[:, i]] for i in range(3))
            levels, slope = thresholds[number, place], slopes[number, place][None, :, None]
            ramps = [((responses - level[None, :, None]) * slope + 0.5).clamp(0, 1).mean(dim=2) for level in levels.T]
            shares.append(torch.stack(ramps, dim=2).flatten(1))
    return torch.cat(shares, dim=1)


def _taps(signal: Tensor, dilation: int, closed: bool) -> Tensor:
    """Return what each tap sees, ``(n_rows, n_taps, n_responses)``."""
    n_samples = signal.shape[1]
    if closed:
        return torch.stack([signal.roll((4 - tap) * dilation, dims=1) for tap in range(N_TAPS)], dim=1)
    n_responses = n_samples - 8 * dilation
    return torch.stack([signal[:, tap * dilation : tap * dilation + n_responses] for tap in range(N_TAPS)], dim=1)


def signals_of(points: Tensor, closed: bool, steps: Sequence[int]) -> Tensor:
    """Return the signals of :func:`shapelex.geometry.outline_signals.outline_signals`, in single precision."""
    points = points - points.mean(dim=1, keepdim=True)
    if closed:
        areas = (points.conj() * points.roll(-1, dims=1)).imag.sum(dim=1)
        points = torch.where(areas[:, None] < 0, points.flip(1), points)
    distances = points.abs()
    found = [distances / distances.square().mean(dim=1, keepdim=True).sqrt()]
    for step in steps:
        if closed:
            ahead, behind = points.roll(-step, dims=1) - points, points - points.roll(step, dims=1)
            found.append((ahead * behind.conj()).angle() / step)
        else:
            chords = points[:, step:] - points[:, :-step]
            angles = (chords[:, step:] * chords[:, :-step].conj()).angle() / step
            found.append(torch.nn.functional.pad(angles, (step, step)))
    return torch.stack(found, dim=1).to(torch.float32)


def copies_of(signals: Tensor, closed: bool, mirror: bool) -> list[Tensor]:
    """Return the copies of :func:`shapelex.geometry.outline_signals.signal_copies`."""
    if closed:
        return [signals, signals.flip(2)] if mirror else [signals]
    signs = torch.ones(signals.shape[1], device=signals.device)
    signs[1:] = -1
    flipped = signals * signs[None, :, None]
    copies = [signals, flipped.flip(2)]
    return [*copies, flipped, signals.flip(2)] if mirror else copies
