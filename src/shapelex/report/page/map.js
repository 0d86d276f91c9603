// The map: its tools, what is said about the dot under the pointer, and when it is drawn.
import { columns, entryText, errorOf, frameOf, labelText, nameOf, nShapes, page } from "./data.js";
import { announce, byId, count, make, makeSelect, percent, share } from "./dom.js";
import { makeThumbnail, outline, posedShape } from "./drawing.js";
import { drawLegend, emphasized, listColorings, shownCategories } from "./map_colors.js";
import { dots, drawDots, drawMarks, keepInSight, marks, screen, view, zoomBy } from "./map_drawing.js";
import { listenOnMap, setLasso, setTouchAction } from "./map_gestures.js";
import { on, selectShape, set, state } from "./store.js";
import { N_COLORS, onTheme } from "./theme.js";

let tip;

function hover(k) {
  if (k === view.hovered) return;
  view.hovered = k;
  tip.hidden = k < 0;
  if (k >= 0) {
    const column = state.colorBy.startsWith("column:") ? columns[Number(state.colorBy.slice(7))] : null;
    const lines = [make("b", { text: nameOf(k) })];
    if (labelText(k)) lines.push(make("span", { text: labelText(k) }));
    if (column && column.name !== "label") lines.push(make("span", { text: `${column.name} ${entryText(column, k)}` }));
    if (frameOf && page.times.has_frames && column?.name !== "frame") lines.push(make("span", { text: `frame ${frameOf[k]}` }));
    lines.push(make("span", { text: `error ${percent(errorOf(k))}` }));
    tip.replaceChildren(makeThumbnail([posedShape(k)], [outline]), ...lines);
    const [x, y] = [screen[2 * k], screen[2 * k + 1]];
    tip.style.left = `${Math.min(Math.max(x + (x > view.width / 2 ? -166 : 16), 4), Math.max(view.width - 154, 4))}px`;
    tip.style.top = `${Math.min(Math.max(y - 70, 4), Math.max(view.height - tip.offsetHeight - 4, 4))}px`;
  }
  requestAnimationFrame(drawMarks);
}

function choose(k) {
  selectShape(k);
  announce(`Shape ${nameOf(k)}${labelText(k) ? `, ${labelText(k)}` : ""}, error ${percent(errorOf(k))}.`);
}

function makeTools() {
  const select = makeSelect("Color dots by", listColorings(), state.colorBy, (colorBy) => {
    const atom = colorBy === "atom" && state.atom < 0 ? 0 : state.atom;
    set({ colorBy, atom, highlight: -1 });
  });
  on(["colorBy"], () => (select.value = state.colorBy));
  const box = make("input", { type: "checkbox", checked: true, onchange: () => ((view.showShapes = box.checked), drawDots()) });
  const zoom = (factor) => () => (hover(-1), zoomBy(factor), setTouchAction());
  const lasso = make("button", {
    type: "button",
    class: "quiet small toggle",
    id: "lasso",
    text: "Lasso",
    title: "Draw around dots to show only these shapes",
    "aria-pressed": "false",
    onclick: () => setLasso(lasso.getAttribute("aria-pressed") !== "true"),
  });
  byId("map-tools").append(
    make("label", { class: "inline" }, "color by ", select),
    make("label", { class: "inline" }, box, " shapes"),
    lasso,
    make("button", { type: "button", class: "quiet square", "aria-label": "Zoom in", text: "+", onclick: zoom(1.6) }),
    make("button", { type: "button", class: "quiet square", "aria-label": "Zoom out", text: "\u2212", onclick: zoom(1 / 1.6) }),
  );
  return (value) => lasso.setAttribute("aria-pressed", String(value));
}

/** Draws the map. */
export function startMap() {
  const area = byId("map");
  tip = make("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const [first, second] = page.map.shares;
  area.append(dots, marks, tip, make("p", { class: "axis-note", text: `tangent PCA: ${share(first)} across, ${share(second)} up` }));
  area.tabIndex = 0;
  area.setAttribute("role", "application");
  area.setAttribute("aria-roledescription", "map of shapes");
  area.setAttribute("aria-label", `${count(nShapes)} shapes by likeness. Arrow keys go to the next shape in that direction, plus and minus zoom.`);
  const label = columns.findIndex((column) => column.name === "label" && page.groups.some((group) => group.column === "label"));
  if (label >= 0 && columns[label].names.length <= N_COLORS + 1) state.colorBy = `column:${label}`;
  const before = state.colorBy;
  listenOnMap(area, hover, choose, makeTools());
  new ResizeObserver(() => {
    if (area.clientWidth === view.width && area.clientHeight === view.height) return;
    [view.width, view.height] = [area.clientWidth, area.clientHeight];
    drawDots();
  }).observe(area);
  on(["colorBy", "highlight"], () => (drawDots(), drawLegend()));
  on(["subset"], () => (hover(-1), drawDots()));
  on(["atom"], () => {
    if (state.colorBy !== "atom") return;
    if (state.atom < 0) set({ colorBy: before });
    drawDots();
    drawLegend();
  });
  on(["selected"], () => {
    // Of many groups, that of the selected shape stands out.
    if (shownCategories() && state.highlight < 0 && emphasized() >= 0) {
      drawDots();
      drawLegend();
    } else drawMarks();
    keepInSight();
  });
  onTheme(() => (drawDots(), drawLegend()));
  drawLegend();
}
