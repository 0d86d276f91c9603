// The map with its legend, as a drawing for a file.
import { groupText } from "./categories.js";
import { frameOf, page, seriesOf } from "./data.js";
import { count, makeSvg } from "./dom.js";
import { colorNameOf, emphasized, groupByColor, shownCategories, shownScale } from "./map_colors.js";
import { drawnShapes, inOrderOfTime, opacityOf, origin, radiusOf, screen, view } from "./map_drawing.js";
import { state } from "./store.js";
import { isExcluded, shapesWhere } from "./subset.js";
import { color, fontFamily, textWidth } from "./theme.js";

const LINE = 18;

const short = (value) => Number(value.toFixed(2));

function pathThrough(points, next = "L") {
  let text = "";
  for (let i = 0; i < points.length; i += 2) text += `${i ? next : "M"}${short(points[i])} ${short(points[i + 1])}`;
  return next === "L" ? text : `${text}h0`;
}

function axes() {
  const [x, y] = origin();
  return makeSvg("path", { d: `M${short(x)} 0V${view.height}M0 ${short(y)}H${view.width}`, stroke: color("--line"), fill: "none" });
}

/** Lines through the shapes of each series. */
function timeLines() {
  let text = "";
  let series = null;
  for (const k of inOrderOfTime()) {
    text += `${seriesOf[k] === series ? "L" : "M"}${short(screen[2 * k])} ${short(screen[2 * k + 1])}`;
    series = seriesOf[k];
  }
  return makeSvg("path", { d: text, stroke: color("--edge"), fill: "none" });
}

function circles({ fill, isMuted, members }, radius) {
  const dots = members.map((k) => makeSvg("circle", { cx: short(screen[2 * k]), cy: short(screen[2 * k + 1]), r: radius }));
  return makeSvg("g", { fill, "fill-opacity": opacityOf(isMuted) }, ...dots);
}

function shapes() {
  const lines = drawnShapes().map((points) => pathThrough(points, page.joined ? "L" : "h0M"));
  const style = { fill: "none", "stroke-linejoin": "round", "stroke-linecap": "round" };
  return lines.flatMap((d) => [
    makeSvg("path", { d, ...style, stroke: color("--paper"), "stroke-width": 3.5, "stroke-opacity": 0.9 }),
    makeSvg("path", { d, ...style, stroke: color("--ink"), "stroke-width": page.joined ? 1 : 2.2, "stroke-opacity": 0.85 }),
  ]);
}

function crosses() {
  const d = shapesWhere(isExcluded).map((k) => `M${short(screen[2 * k] - 4)} ${short(screen[2 * k + 1] - 4)}l8 8m-8 0l8 -8`).join("");
  return d ? [makeSvg("path", { d, stroke: color("--ink"), "stroke-width": 1.6, fill: "none" })] : [];
}

/** Groups and their colors, or the scale, beside the map. */
function legend() {
  const categories = shownCategories();
  const parts = [];
  if (categories) {
    const texts = categories.names.map((name, group) => `${groupText(name)} (${count(categories.counts[group])})`);
    texts.forEach((text, group) => {
      parts.push(
        makeSvg("circle", { cx: 6, cy: (group + 0.5) * LINE, r: 5, fill: color(colorNameOf(categories, group)) }),
        makeSvg("text", { x: 18, y: (group + 0.5) * LINE + 4, fill: color("--ink"), text }),
      );
    });
    return { parts, width: 18 + Math.max(...texts.map((text) => textWidth(text, 12))), height: LINE * texts.length };
  }
  const { words } = shownScale();
  const stops = ["--ramp-0", "--ramp-1", "--ramp-2"].map((name, i) => makeSvg("stop", { offset: i / 2, "stop-color": color(name) }));
  parts.push(
    makeSvg("defs", {}, makeSvg("linearGradient", { id: "ramp", x1: 0, y1: 1, x2: 0, y2: 0 }, ...stops)),
    makeSvg("rect", { x: 0, y: 4, width: 12, height: 120, fill: "url(#ramp)" }),
    makeSvg("text", { x: 18, y: 14, fill: color("--ink"), text: words[1] }),
    makeSvg("text", { x: 18, y: 124, fill: color("--ink"), text: words[0] }),
  );
  return { parts, width: 18 + Math.max(...words.map((text) => textWidth(text, 12))), height: 130 };
}

/** The map as it is seen, and its legend. */
export function mapDrawings() {
  const { width, height } = view;
  const isStrong = emphasized() >= 0;
  const groups = [...groupByColor()];
  const isTop = ({ isMuted }) => isStrong && !isMuted;
  const map = makeSvg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}` },
    axes(),
    ...(state.colorBy === "time" && frameOf ? [timeLines()] : []),
    ...groups.filter((group) => !isTop(group)).map((group) => circles(group, radiusOf())),
    ...(view.showShapes ? shapes() : []),
    ...groups.filter(isTop).map((group) => circles(group, radiusOf() + 1.5)),
    ...crosses(),
  );
  const { parts, ...size } = legend();
  const key = makeSvg("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "font-family": fontFamily(), "font-size": 12 }, ...parts);
  return [map, key];
}
