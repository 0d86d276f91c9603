// Time series: choose one, play it, go along its strip; shape, sum and weights move.
import { atoms, configuration, frameOf, nCoordinates, page, seriesOf } from "./data.js";
import { addScaled, curveOf, scaled, times } from "./complex.js";
import { saveText } from "./codes_table.js";
import { makeDial } from "./dial.js";
import { announce, byId, count, make, makeSelect, makeSvg, percent, shortened } from "./dom.js";
import { downloadTools } from "./download.js";
import { outline, pathOf, UNIT } from "./drawing.js";
import { makePlayer, playRate } from "./playback.js";
import { clockOf, errorAt, flatTurn, longestSeries, members, rateOf, seriesText, termsAt, trackedTurn } from "./series.js";
import { on, selectShape, state } from "./store.js";
import { canvasPen, makeStrip, stripSvg } from "./strip.js";
import { color, onTheme } from "./theme.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

let series = 0; // what is shown
let place = 0; // the shape of the series, by its place in time
let strip = null;
let speed = 1;

/** The curve of shape k in the tracked pose, and that of the sum of its atoms. */
function curvesAt(k) {
  const sum = new Float64Array(2 * nCoordinates);
  const flat = flatTurn(series);
  for (const { atom, re, im } of termsAt(k)) addScaled(sum, ...times(re, im, ...flat), atoms[atom]);
  return [curveOf(scaled(...trackedTurn(k), configuration(k))), curveOf(sum)];
}

/** The largest reach of the shapes of the series from their centers, along x and y. */
function reachOf(rows) {
  const reach = [1e-6, 1e-6];
  const step = Math.max(1, Math.floor(rows.length / 200));
  for (let i = 0; i < rows.length; i += step) {
    const [curve] = curvesAt(rows[i]);
    for (let j = 0; j < curve.length; j++) reach[j % 2] = Math.max(reach[j % 2], Math.abs(curve[j]));
  }
  return reach;
}

function makeStage() {
  const original = makeSvg("path", { class: `${outline} original` });
  const sum = makeSvg("path", { class: "curve sum", id: "time-sum" });
  const drawing = makeSvg("svg", { class: "time-drawing", role: "img", "aria-label": "The shape of this moment under the sum of its atoms" }, original, sum);
  const dial = makeDial();
  return {
    element: make("div", { class: "time-stage" }, drawing, dial.drawing),
    drawings: () => [drawing, dial.drawing],
    frame() {
      const [x, y] = reachOf(members[series]).map((value) => 1.12 * UNIT * value);
      drawing.setAttribute("viewBox", `${-x} ${-y} ${2 * x} ${2 * y}`);
    },
    show(k) {
      const [curve, total] = curvesAt(k);
      original.setAttribute("d", pathOf(curve));
      sum.setAttribute("d", pathOf(total));
      dial.show(termsAt(k), strip.limit);
    },
  };
}

function alongTime() {
  const stage = makeStage();
  const canvas = make("canvas", { class: "time-canvas" });
  const cursor = make("div", { class: "time-cursor" });
  const region = make(
    "div",
    {
      class: "time",
      tabindex: 0,
      role: "slider",
      "aria-label": "Weights along time. Left and right go through the frames, space plays.",
      "aria-valuemin": 0,
    },
    canvas,
    cursor,
  );
  const clock = make("output", { class: "time-clock", "aria-live": "off" });
  const hint = make("p", { class: "hint" });
  let width = 0;

  const moveCursor = () => {
    if (strip && width) cursor.style.transform = `translateX(${strip.placeOf(members[series][place], width)}px)`;
  };
  const draw = () => {
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(strip.height * ratio);
    canvas.style.height = `${strip.height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    strip.draw(canvasPen(context), width);
    cursor.style.height = `${strip.height - 34}px`;
    cursor.style.background = color("--ink");
    moveCursor();
  };
  const show = (next) => {
    place = Math.max(0, Math.min(members[series].length - 1, next));
    const k = members[series][place];
    stage.show(k);
    clock.textContent = `${clockOf(series).text(frameOf[k])}${rateOf(series) !== null ? ` · frame ${frameOf[k]}` : ""} · error ${percent(errorAt(k))}`;
    region.setAttribute("aria-valuenow", place);
    region.setAttribute("aria-valuetext", `${page.times.names.length > 1 ? `series ${page.times.names[series]}, ` : ""}${clock.textContent}`);
    moveCursor();
  };
  const button = make("button", { type: "button", class: "quiet time-play", id: "time-play", text: "Play" });
  /** The last shape at or before a frame. */
  const placeAt = (frame) => {
    const rows = members[series];
    let [low, high] = [0, rows.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (frameOf[rows[middle]] <= frame + 1e-9) low = middle;
      else high = middle - 1;
    }
    return low;
  };
  const player = makePlayer({
    show: (frame) => show(placeAt(frame)),
    tell: (isPlaying) => {
      button.textContent = isPlaying ? "Pause" : "Play";
      // The other views follow when it stands still.
      if (!isPlaying) selectShape(members[series][place]);
    },
    end: () => frameOf[members[series].at(-1)],
    rate: () => speed * playRate(rateOf(series)),
  });
  const toggle = () => {
    if (player.isPlaying()) return player.stop();
    const isAtEnd = place === members[series].length - 1;
    return player.start(frameOf[members[series][isAtEnd ? 0 : place]]);
  };
  button.addEventListener("click", toggle);
  const go = (next) => {
    player.stop();
    show(next);
    selectShape(members[series][place]);
  };
  const choose = (next, at = 0) => {
    player.stop();
    series = next;
    strip = makeStrip(series);
    region.setAttribute("aria-valuemax", members[series].length - 1);
    const isAlone = page.times.names.length === 1;
    const speedText = rateOf(series) === null || playRate(rateOf(series)) !== rateOf(series) ? ` Played at ${playRate(rateOf(series))} frames per second.` : "";
    hint.textContent = `${isAlone ? "" : `Series ${page.times.names[series]}: `}${count(members[series].length)} frames. Each row is an atom: its height is the modulus of its weight (a full row is ${strip.limit}), its color the phase (dark blue 0°, light orange 180°); the last row is the error (a full row is ${percent(strip.worst)}).${speedText} Drag along the strip, or use the arrow keys.`;
    stage.frame();
    draw();
    show(at);
  };
  region.addEventListener("keydown", (event) => {
    const last = members[series].length - 1;
    const to = { ArrowLeft: place - 1, ArrowDown: place - 1, ArrowRight: place + 1, ArrowUp: place + 1, PageDown: place - 10, PageUp: place + 10, Home: 0, End: last }[event.key];
    if (event.key === " ") toggle();
    else if (to === undefined) return;
    else if (to < 0 || to > last) announce("No frame there.");
    else go(to);
    event.preventDefault();
  });
  const point = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    player.stop();
    show(strip.rowAt(event.clientX - canvas.getBoundingClientRect().left, width));
  };
  region.addEventListener("pointerdown", (event) => {
    region.setPointerCapture(event.pointerId);
    point(event);
  });
  region.addEventListener("pointermove", point);
  // The other views follow when the pointer is lifted: they would make dragging slow.
  for (const name of ["pointerup", "pointercancel"]) region.addEventListener(name, () => selectShape(members[series][place]));
  new ResizeObserver(() => {
    if (region.clientWidth === width) return;
    width = region.clientWidth;
    canvas.style.width = `${width}px`;
    draw();
  }).observe(region);
  // A shape that is chosen elsewhere is gone to.
  on(["selected"], () => {
    const k = state.selected;
    if (player.isPlaying()) return;
    if (seriesOf[k] < 0) {
      region.setAttribute("aria-valuetext", "in no series");
      return;
    }
    const at = members[seriesOf[k]].indexOf(k);
    if (seriesOf[k] !== series) {
      if (picker) picker.value = String(seriesOf[k]);
      choose(seriesOf[k], at);
    } else if (at !== place) show(at);
  });
  onTheme(draw);
  const options = page.times.names.map((name, number) => [String(number), `series ${shortened(name)} (${count(members[number].length)} frames)`]).filter((_, number) => members[number].length);
  const picker = options.length > 1 ? makeSelect("Series", options, "0", (value) => choose(Number(value))) : null;
  const speeds = SPEEDS.map((value) => [String(value), `${value}× speed`]);
  choose(longestSeries());
  if (picker) picker.value = String(series);
  const controls = make(
    "div",
    { class: "time-controls" },
    ...(picker ? [picker] : []),
    button,
    makeSelect("Speed", speeds, "1", (value) => (speed = Number(value))),
    make("button", { type: "button", class: "quiet square", "aria-label": "Previous frame", text: "\u2190", onclick: () => go(place - 1) }),
    make("button", { type: "button", class: "quiet square", "aria-label": "Next frame", text: "\u2192", onclick: () => go(place + 1) }),
    clock,
  );
  byId("time-tools").append(
    downloadTools(() => [...stage.drawings(), stripSvg(series)], () => `series-${page.times.names[series] || "1"}`),
    make("button", { type: "button", class: "quiet small", id: "save-series", text: "Series (CSV)", onclick: () => saveText(seriesText(series), "shapelex-series.csv") }),
  );
  byId("time-hint").textContent = page.times.words;
  return [controls, stage.element, region, hint];
}

/** What is shown along time, for others to read. */
export function timeState() {
  return page.times ? { series, place, shape: members[series][place], csv: seriesText(series) } : null;
}

/** Draws the section, where there are series with shapes. */
export function startTime() {
  const hasSeries = Boolean(page.times) && members.some((rows) => rows.length);
  byId("time-section").hidden = !hasSeries;
  if (hasSeries) byId("time").append(...alongTime());
}
