// Small charts: axes with round numbers, bars and lines.
import { makeSvg } from "./dom.js";

export const WIDTH = 420;
export const HEIGHT = 240;
const LEFT = 46;
const RIGHT = 14;
const TOP = 28;
const BOTTOM = 40;

/** Round numbers from 0 or `low` to `high`. */
export function ticks(low, high, about = 4) {
  const raw = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((value) => value >= raw * 0.999);
  const values = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i++) values.push(Number((i * step).toPrecision(10)));
  return values;
}

/** An empty chart: its drawing, and functions from values to places. */
export function makeChart({ label, x, y, xText, yText, xTitle, yTitle }) {
  const toX = (value) => LEFT + ((WIDTH - LEFT - RIGHT) * (value - x[0])) / (x[1] - x[0] || 1);
  const toY = (value) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * (value - y[0])) / (y[1] - y[0] || 1);
  const svg = makeSvg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const value of ticks(...y)) {
    svg.append(
      makeSvg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: toY(value), y2: toY(value) }),
      makeSvg("text", { class: "tick", x: LEFT - 6, y: toY(value) + 4, "text-anchor": "end", text: yText(value) }),
    );
  }
  for (const value of ticks(...x, 5)) {
    svg.append(makeSvg("text", { class: "tick", x: toX(value), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle", text: xText(value) }));
  }
  svg.append(
    makeSvg("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: toY(y[0]), y2: toY(y[0]) }),
    makeSvg("text", { class: "axis-title", x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle", text: xTitle }),
    makeSvg("text", { class: "axis-title", x: 2, y: 11, text: yTitle }),
  );
  return { svg, toX, toY };
}
