"""Write pictures as movies, GIF or MP4."""

import errno
import io
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from shapelex._extras import load_library

_CONSTANT_QUALITY = 15  # of libx264: 0 loses nothing, 51 nearly everything
_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES)


def write_gif(path: Path, pictures: Iterator[np.ndarray[Any, Any]], rate: float) -> None:
    """Write a GIF that is repeated without end."""
    image = load_library("PIL.Image", "Pillow", "Writing a GIF", extra="report")

    def make_frames() -> Iterator[Any]:
        for number, picture in enumerate(pictures):
            frame = image.fromarray(picture).quantize(256, dither=image.Dither.NONE)
            # GIF counts in hundredths of a second, and viewers slow down what is faster than two of them. Frames of 3
            # and 4 hundredths take turns at 30 frames per second, so that the movie as a whole has its rate.
            hundredths = round(100 * (number + 1) / rate) - round(100 * number / rate)
            frame.info["duration"] = max(20, 10 * hundredths)
            yield frame

    frames = make_frames()
    first = next(frames)
    # Pillow's encoders raise errors without a reason or a name where they write to a full disk themselves.
    content = io.BytesIO()
    first.save(content, format="gif", save_all=True, append_images=frames, loop=0, optimize=False)
    path.write_bytes(content.getbuffer())


def write_mp4(path: Path, pictures: Iterator[np.ndarray[Any, Any]], rate: float) -> None:
    """Write an MP4; what ffmpeg could not write is an error without a name."""
    ffmpeg = load_library("imageio_ffmpeg", "imageio-ffmpeg", "Writing an MP4", extra="sequences")
    first = next(pictures)
    # Players need an even number of pixels along each side.
    height, width = (side - side % 2 for side in first.shape[:2])
    frames = (np.ascontiguousarray(picture[:height, :width]).data for picture in chain([first], pictures))
    shown = str(Fraction(rate).limit_denominator())
    given = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", shown, "-i", "-"]
    made = ["-an", "-vcodec", "libx264", "-pix_fmt", "yuv420p", "-crf", str(_CONSTANT_QUALITY)]
    # imageio_ffmpeg would not tell whether ffmpeg succeeded.
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(
            [ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y", *given, *made, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=messages,
            # An interruption at the keyboard is for this process, which ends ffmpeg.
            start_new_session=True,
        )
        try:
            is_whole = _feed(cast(BinaryIO, process.stdin), frames)
            status = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if status != 0 or not is_whole:
            messages.seek(0)
            raise _failure(status, messages.read().decode(errors="replace"))


def _feed(stream: BinaryIO, frames: Iterator[Any]) -> bool:
    """Write frames to ffmpeg, and return whether it took all of them: it may end before."""
    try:
        for frame in frames:
            try:
                stream.write(frame)
            except OSError:
                return False
        return True
    finally:
        with suppress(OSError):
            stream.close()


def _failure(status: int, messages: str) -> OSError:
    """Return the error of ffmpeg, without a name: the folder that it worked in is none that the caller knows."""
    code = next((one for one in _DISK_ERRORS if os.strerror(one) in messages), None)
    if code is not None:
        return OSError(code, os.strerror(code))
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    reason = lines[-1].rstrip(".") if lines else f"exit status {status}"
    if status < 0:
        reason = f"it was ended by the signal {signal.Signals(-status).name}"
    return OSError(errno.EIO, f"ffmpeg could not write the movie: {reason}")
