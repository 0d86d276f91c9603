// Use of the atoms along time, as a picture.
import { atomOrder, errorOf, frameOf, nAtoms, page, seriesOf, timeWeights } from "./data.js";
import { announce, byId, count, make, percent } from "./dom.js";
import { on, selectShape, state } from "./store.js";
import { color, makeRamp, onTheme } from "./theme.js";

const ROW = 15;
const TEXT = 26;

function alongTime() {
  const { series, first, last, places, names } = page.times;
  const nColumns = series.length;
  const canvas = make("canvas", { class: "time-canvas" });
  const words = make("p", { class: "note" });
  const region = make(
    "div",
    {
      class: "time",
      tabindex: 0,
      role: "slider",
      "aria-label": "Weights along time. Left and right go through the shapes in time.",
      "aria-valuemin": 0,
      "aria-valuemax": nColumns - 1,
    },
    canvas,
  );
  let width = 0;
  const columnOf = (k) => {
    for (let c = 0; c < nColumns; c++) if (series[c] === seriesOf[k] && frameOf[k] <= last[c] + 1e-9) return c;
    return -1;
  };
  const draw = () => {
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    const height = nAtoms * ROW + 18;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const ramp = makeRamp();
    const most = timeWeights.reduce((a, b) => Math.max(a, b), 1e-9);
    const wide = (width - TEXT) / nColumns;
    context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    context.textBaseline = "middle";
    atomOrder.forEach((atom, row) => {
      context.fillStyle = color("--soft");
      context.textAlign = "right";
      context.fillText(String(atom), TEXT - 7, row * ROW + ROW / 2);
      for (let c = 0; c < nColumns; c++) {
        const value = timeWeights[atom * nColumns + c];
        if (value < 0) continue;
        context.fillStyle = value === 0 ? color("--wash") : `rgb(${ramp(value / most).join(" ")})`;
        context.fillRect(TEXT + c * wide, row * ROW + 1, wide + 0.4, ROW - 2);
      }
    });
    context.fillStyle = color("--ink");
    for (let c = 1; c < nColumns; c++) if (series[c] !== series[c - 1]) context.fillRect(TEXT + c * wide - 0.75, 0, 1.5, nAtoms * ROW);
    const column = columnOf(state.selected);
    if (column < 0) return;
    const at = TEXT + (column + 0.5) * wide;
    context.fillStyle = color("--accent");
    context.fillRect(at - 1, 0, 2, nAtoms * ROW + 3);
    context.beginPath();
    context.moveTo(at, nAtoms * ROW + 2);
    context.lineTo(at - 5, nAtoms * ROW + 11);
    context.lineTo(at + 5, nAtoms * ROW + 11);
    context.fill();
  };
  const tell = () => {
    const k = state.selected;
    const name = names[seriesOf[k]];
    const text = seriesOf[k] < 0 ? "in no series" : `${names.length > 1 ? `series ${name}, ` : ""}${page.times.has_frames ? "frame" : "number"} ${frameOf[k]}, error ${percent(errorOf(k))}`;
    words.textContent = `The shape above: ${text}.`;
    region.setAttribute("aria-valuenow", Math.max(0, columnOf(k)));
    region.setAttribute("aria-valuetext", text);
    draw();
  };
  const go = (column, by) => {
    for (let c = column; c >= 0 && c < nColumns; c += by) if (places[c] >= 0) return selectShape(places[c]);
    return announce("No shape there.");
  };
  region.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
    if (!by) return;
    go(columnOf(state.selected) + by, Math.sign(by));
    event.preventDefault();
  });
  const point = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left - TEXT) / (width - TEXT)) * nColumns);
    if (column >= 0 && column < nColumns) go(column, column > columnOf(state.selected) ? 1 : -1);
  };
  region.addEventListener("pointerdown", point);
  region.addEventListener("pointermove", point);
  new ResizeObserver(() => {
    if (region.clientWidth === width) return;
    width = region.clientWidth;
    canvas.style.width = `${width}px`;
    draw();
  }).observe(region);
  on(["selected"], tell);
  onTheme(draw);
  const gap = Array.from(timeWeights).some((value) => value < 0) ? " Gaps are times without a shape." : "";
  const more = page.times.n_left_out ? ` ${count(page.times.n_left_out)} further series are not shown.` : "";
  const span = `from ${first[0]} to ${last[nColumns - 1]}`;
  return [
    make("p", {
      class: "hint",
      text: `Along time, ${names.length > 1 ? `${count(names.length)} series one after the other` : span}: how strongly each atom is used (mean modulus of its weight).${gap}${more} Click or drag to go to a shape.`,
    }),
    region,
    words,
  ];
}

/** Draws the picture, where there are series. */
export function startTime() {
  byId("time-section").hidden = !page.times;
  if (page.times) byId("time").append(...alongTime());
}
