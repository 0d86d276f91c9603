// Curves as SVG paths. One unit of shape space is a thousand units of a drawing; y points up.
import { atomPoses, atoms, configuration, page, shapePoses } from "./data.js";
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

/** Class of outlines that may be filled. */
export const outline = page.closed && page.joined ? "curve closed" : "curve";

document.documentElement.toggleAttribute("data-points", !page.joined);
