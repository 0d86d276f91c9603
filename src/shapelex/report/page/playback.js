// A clock that runs through the frames of a series.

const WATCHABLE = [4, 60]; // frames per second
const USUAL = 15;

/** Frames per second at which a series is played: its own where that can be watched, else the usual one. */
export function playRate(rate) {
  return rate !== null && rate >= WATCHABLE[0] && rate <= WATCHABLE[1] ? rate : USUAL;
}

/**
 * A player: `show` is called with each frame that is reached, `tell` when it starts or stops.
 * `end` gives the last frame, `rate` the frames per second, which may change on the way.
 */
export function makePlayer({ show, tell, end, rate }) {
  let request = 0;
  let frame = 0;
  let last = 0;
  const stop = () => {
    if (!request) return;
    cancelAnimationFrame(request);
    request = 0;
    tell(false);
  };
  const advance = (now) => {
    // A page in the background gets no frames: what was missed is not made up for.
    frame += (Math.min(now - last, 250) / 1000) * rate();
    last = now;
    request = requestAnimationFrame(advance);
    show(Math.min(frame, end()));
    if (frame >= end()) stop();
  };
  const start = (from) => {
    stop();
    frame = from;
    last = performance.now();
    request = requestAnimationFrame(advance);
    tell(true);
  };
  return { start, stop, isPlaying: () => request !== 0 };
}
