// The map on two canvases: dots, drawn anew only when view, colors or size change, and marks above them.
import { frameOf, nShapes, page, places, seriesOf } from "./data.js";
import { make } from "./dom.js";
import { posedShape } from "./drawing.js";
import { emphasized, groupByColor } from "./map_colors.js";
import { isExcluded, isShown, shapesWhere } from "./subset.js";
import { state } from "./store.js";
import { color } from "./theme.js";

const CELL = 64; // pixels of a shape drawn on the map
const MARGIN = 26;
const MOST_ZOOM = 40;

export const dots = make("canvas", { "aria-hidden": "true" });
export const marks = make("canvas", { "aria-hidden": "true" });
/** Zoom and shift of the map, its size, what is drawn, a lasso that is being drawn (x, y, …), and places on the screen. */
export const view = { zoom: 1, x: 0, y: 0, width: 0, height: 0, showShapes: true, hovered: -1, lasso: null };
export const screen = new Float32Array(2 * nShapes);
const extent = measure();
let isDrawn = false;

function measure() {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let k = 0; k < nShapes; k++) {
    left = Math.min(left, places[2 * k]);
    right = Math.max(right, places[2 * k]);
    bottom = Math.min(bottom, places[2 * k + 1]);
    top = Math.max(top, places[2 * k + 1]);
  }
  return { x: (left + right) / 2, y: (bottom + top) / 2, width: right - left || 1e-6, height: top - bottom || 1e-6 };
}

function scaleOf() {
  return view.zoom * Math.min((view.width - 2 * MARGIN) / extent.width, (view.height - 2 * MARGIN) / extent.height);
}

function project() {
  const scale = scaleOf();
  for (let k = 0; k < nShapes; k++) {
    screen[2 * k] = view.width / 2 + view.x + scale * (places[2 * k] - extent.x);
    screen[2 * k + 1] = view.height / 2 + view.y - scale * (places[2 * k + 1] - extent.y);
  }
}

/** The shape far from k on the map. */
export function farFrom(k) {
  let best = k;
  let most = -1;
  for (let i = 0; i < nShapes; i++) {
    const away = Math.hypot(places[2 * i] - places[2 * k], places[2 * i + 1] - places[2 * k + 1]);
    if (away > most) [best, most] = [i, away];
  }
  return best;
}

function fit(canvas) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(view.width * ratio);
  canvas.height = Math.round(view.height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Draws everything. */
export function drawDots() {
  if (!view.width) return;
  project();
  const context = fit(dots);
  context.clearRect(0, 0, view.width, view.height);
  drawAxes(context);
  if (state.colorBy === "time" && frameOf) drawPaths(context);
  const isStrong = emphasized() >= 0;
  const groups = [...groupByColor()];
  const isTop = ({ isMuted }) => isStrong && !isMuted;
  const fillGroup = ({ fill, isMuted, members }, size) => {
    context.fillStyle = fill;
    context.globalAlpha = opacityOf(isMuted);
    context.beginPath();
    for (const k of members) {
      const [x, y] = [screen[2 * k], screen[2 * k + 1]];
      context.moveTo(x + size, y);
      context.arc(x, y, size, 0, 2 * Math.PI);
    }
    context.fill();
  };
  for (const group of groups) if (!isTop(group)) fillGroup(group, radiusOf());
  if (view.showShapes) drawShapes(context);
  // The shapes of the chosen group lie above all others.
  for (const group of groups) if (isTop(group)) fillGroup(group, radiusOf() + 1.5);
  drawExcluded(context);
  isDrawn = true;
  drawMarks();
}

/** Radius of a dot. */
export function radiusOf() {
  return nShapes > 2000 ? 2.1 : nShapes > 300 ? 2.7 : 4;
}

/** Opacity of a dot. */
export function opacityOf(isMuted) {
  return isMuted ? 0.45 : nShapes > 1000 ? 0.75 : 0.9;
}

/** A cross on each excluded shape. */
function drawExcluded(context) {
  context.globalAlpha = 1;
  context.strokeStyle = color("--ink");
  context.lineWidth = 1.6;
  context.beginPath();
  for (const k of shapesWhere(isExcluded)) {
    const [x, y] = [screen[2 * k], screen[2 * k + 1]];
    context.moveTo(x - 4, y - 4);
    context.lineTo(x + 4, y + 4);
    context.moveTo(x - 4, y + 4);
    context.lineTo(x + 4, y - 4);
  }
  context.stroke();
}

/** The shapes of all series, in the order of time. */
export function inOrderOfTime() {
  const inSeries = shapesWhere((k) => seriesOf[k] >= 0);
  return inSeries.sort((i, j) => seriesOf[i] - seriesOf[j] || frameOf[i] - frameOf[j]);
}

/** Joins the shapes of each series in the order of time. */
function drawPaths(context) {
  const order = inOrderOfTime();
  context.strokeStyle = color("--edge");
  context.lineWidth = 1;
  context.beginPath();
  order.forEach((k, i) => {
    const isStart = i === 0 || seriesOf[k] !== seriesOf[order[i - 1]];
    context[isStart ? "moveTo" : "lineTo"](screen[2 * k], screen[2 * k + 1]);
  });
  context.stroke();
}

/** Where the axes cross on the screen. */
export function origin() {
  const scale = scaleOf();
  return [view.width / 2 + view.x - scale * extent.x, view.height / 2 + view.y + scale * extent.y];
}

function drawAxes(context) {
  context.globalAlpha = 1;
  context.strokeStyle = color("--line");
  context.lineWidth = 1;
  context.beginPath();
  const [x, y] = origin().map((value) => Math.round(value) + 0.5);
  context.moveTo(x, 0);
  context.lineTo(x, view.height);
  context.moveTo(0, y);
  context.lineTo(view.width, y);
  context.stroke();
}

/** One shape for every cell of the screen that has any, that nearest to the middle of the cell, as points on the screen. */
export function drawnShapes() {
  const nearest = new Map();
  for (let k = 0; k < nShapes; k++) {
    const [x, y] = [screen[2 * k], screen[2 * k + 1]];
    if (!isShown(k) || x < 0 || y < 0 || x > view.width || y > view.height) continue;
    const [column, row] = [Math.floor(x / CELL), Math.floor(y / CELL)];
    const away = Math.hypot(x - (column + 0.5) * CELL, y - (row + 0.5) * CELL);
    const key = row * 1000 + column;
    if (!nearest.has(key) || nearest.get(key)[1] > away) nearest.set(key, [k, away]);
  }
  return Array.from(nearest.values(), ([k]) => {
    const points = posedShape(k);
    let reach = 0;
    for (let i = 0; i < points.length; i++) reach = Math.max(reach, Math.abs(points[i]));
    const scale = (0.36 * CELL) / reach;
    return points.map((value, i) => (i % 2 ? screen[2 * k + 1] - scale * value : screen[2 * k] + scale * value));
  });
}

function drawShapes(context) {
  context.lineJoin = "round";
  for (const points of drawnShapes()) {
    context.beginPath();
    for (let i = 0; i < points.length; i += 2) {
      if (page.joined) context.lineTo(points[i], points[i + 1]);
      else context.rect(points[i], points[i + 1], 0.01, 0.01);
    }
    context.globalAlpha = 0.9;
    context.strokeStyle = color("--paper");
    context.lineWidth = 3.5;
    context.stroke();
    context.globalAlpha = 0.85;
    context.strokeStyle = color("--ink");
    context.lineWidth = page.joined ? 1 : 2.2;
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** Draws what moves: the dot under the pointer, the selected one, and the lasso. */
export function drawMarks() {
  if (!isDrawn) return;
  const context = marks.getContext("2d");
  if (marks.width !== dots.width || marks.height !== dots.height) fit(marks);
  context.clearRect(0, 0, view.width, view.height);
  const ring = (k, stroke, radius, lineWidth) => {
    context.strokeStyle = color(stroke);
    context.lineWidth = lineWidth;
    context.beginPath();
    context.arc(screen[2 * k], screen[2 * k + 1], radius, 0, 2 * Math.PI);
    context.stroke();
  };
  if (view.hovered >= 0) ring(view.hovered, "--ink", 6, 1.5);
  ring(state.selected, "--paper", 8, 5);
  ring(state.selected, "--accent", 8, 2.5);
  context.fillStyle = color("--accent");
  context.beginPath();
  context.arc(screen[2 * state.selected], screen[2 * state.selected + 1], 3.5, 0, 2 * Math.PI);
  context.fill();
  if (!view.lasso) return;
  context.beginPath();
  for (let i = 0; i < view.lasso.length; i += 2) context.lineTo(view.lasso[i], view.lasso[i + 1]);
  context.closePath();
  context.globalAlpha = 0.12;
  context.fill();
  context.globalAlpha = 1;
  context.strokeStyle = color("--accent");
  context.lineWidth = 1.5;
  context.stroke();
}

/** Zooms, with a place of the screen fixed: the selected shape, or the pointer. */
export function zoomBy(factor, x = screen[2 * state.selected], y = screen[2 * state.selected + 1]) {
  const zoom = Math.min(MOST_ZOOM, Math.max(1, view.zoom * factor));
  const change = zoom / view.zoom;
  view.x = x - view.width / 2 - change * (x - view.width / 2 - view.x);
  view.y = y - view.height / 2 - change * (y - view.height / 2 - view.y);
  view.zoom = zoom;
  if (zoom === 1) [view.x, view.y] = [0, 0];
  requestAnimationFrame(drawDots);
}

/** Moves the selected shape into sight, where the map is zoomed. */
export function keepInSight() {
  const [x, y] = [screen[2 * state.selected], screen[2 * state.selected + 1]];
  if (view.zoom === 1 || (x > 0 && x < view.width && y > 0 && y < view.height)) return;
  view.x += view.width / 2 - x;
  view.y += view.height / 2 - y;
  drawDots();
}
