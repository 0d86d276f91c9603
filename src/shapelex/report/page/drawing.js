// Curves as SVG paths. One unit of shape space is a thousand units of a drawing; y points up.
import { atomPoses, atoms, basis, configuration, nCoordinates, page, shapePoses } from "./data.js";
import { curveOf, scaled } from "./complex.js";
import { makeSvg } from "./dom.js";

export const UNIT = 1000;

/** The text of a path through points. */
export function pathOf(points) {
  let path = "";
  // Without a line, a point is a stroke of no length: round, as wide as the line would be.
  const next = page.joined ? "L" : "h0M";
  for (let i = 0; i < points.length; i += 2) {
    path += `${i ? next : "M"}${(UNIT * points[i]).toFixed(2)} ${(-UNIT * points[i + 1]).toFixed(2)}`;
  }
  return page.joined ? path : `${path}h0`;
}

/** The box around curves, with a margin, as the viewBox of a drawing; at least as wide as `ratio` times its height. */
export function viewBoxOf(curves, margin = 0.08) {
  let [left, right, bottom, top] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const points of curves) {
    for (let i = 0; i < points.length; i += 2) {
      left = Math.min(left, points[i]);
      right = Math.max(right, points[i]);
      bottom = Math.min(bottom, points[i + 1]);
      top = Math.max(top, points[i + 1]);
    }
  }
  const pad = margin * Math.max(right - left, top - bottom, 1e-6);
  const numbers = [left - pad, -top - pad, right - left + 2 * pad, top - bottom + 2 * pad];
  return numbers.map((value) => (UNIT * value).toFixed(1)).join(" ");
}

/** The curve of shape k in the common pose. */
export function posedShape(k) {
  return curveOf(scaled(shapePoses[2 * k], shapePoses[2 * k + 1], configuration(k)));
}

/** The curve of an atom in the common pose. */
export function posedAtom(j) {
  return curveOf(scaled(atomPoses[2 * j], atomPoses[2 * j + 1], atoms[j]));
}

/** A path for a curve. */
export function makePath(points, attributes = {}) {
  return makeSvg("path", { d: pathOf(points), ...attributes });
}

/** A small drawing of curves, hidden from screen readers: what it shows is said beside it. */
export function makeThumbnail(curves, classes) {
  const paths = curves.map((points, i) => makePath(points, { class: classes[i] }));
  return makeSvg("svg", { viewBox: viewBoxOf(curves), class: "thumbnail", "aria-hidden": "true" }, ...paths);
}

/** Whether the points of a configuration are landmarks, which have numbers. */
export const hasLandmarks = basis === null;
const MOST_NUMBERS = 40;

/** The numbers of the landmarks of a drawing, from 1 on, away from its middle; of many landmarks some, at round numbers. */
export function makeNumbers(points) {
  const step = [1, 5, 10, 20, 50, 100].find((value) => nCoordinates / value <= MOST_NUMBERS) ?? 200;
  let [x, y, reach] = [0, 0, 0];
  for (let i = 0; i < 2 * nCoordinates; i += 2) {
    x += points[i] / nCoordinates;
    y += points[i + 1] / nCoordinates;
  }
  for (let i = 0; i < 2 * nCoordinates; i++) reach = Math.max(reach, Math.abs(points[i] - (i % 2 ? y : x)));
  const texts = [];
  for (let n = 1; n <= nCoordinates; n++) {
    if (n !== 1 && n % step) continue;
    const [dx, dy] = [points[2 * n - 2] - x, points[2 * n - 1] - y];
    const shift = (0.09 * reach) / (Math.hypot(dx, dy) || 1);
    texts.push(makeSvg("text", { x: UNIT * (x + dx * (1 + shift)), y: -UNIT * (y + dy * (1 + shift)), "font-size": 0.09 * reach * UNIT, text: String(n) }));
  }
  return texts;
}

/** Class of outlines that may be filled. */
export const outline = page.closed && page.joined ? "curve closed" : "curve";

document.documentElement.toggleAttribute("data-points", !page.joined);
