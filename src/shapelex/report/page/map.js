// The map: what the pointer and the keyboard do on it.
import { errorOf, frameOf, labelNames, labelText, nameOf, nShapes, page, seriesOf } from "./data.js";
import { announce, byId, count, make, makeSelect, percent, share } from "./dom.js";
import { makeThumbnail, outline, posedShape } from "./drawing.js";
import { drawLegend, hasManyLabels } from "./map_colors.js";
import { dots, drawDots, drawMarks, keepInSight, marks, screen, view, zoomBy } from "./map_drawing.js";
import { on, selectShape, set, state } from "./store.js";
import { onTheme } from "./theme.js";

const REACH = 24; // pixels from the pointer within which a dot answers
let tip, area;

function nearestTo(x, y) {
  let best = -1;
  let least = REACH * REACH;
  for (let k = 0; k < nShapes; k++) {
    const away = (screen[2 * k] - x) ** 2 + (screen[2 * k + 1] - y) ** 2;
    if (away < least) [best, least] = [k, away];
  }
  return best;
}

function hover(k) {
  if (k === view.hovered) return;
  view.hovered = k;
  tip.hidden = k < 0;
  if (k >= 0) {
    const lines = [make("b", { text: nameOf(k) })];
    if (labelText(k)) lines.push(make("span", { text: labelText(k) }));
    if (frameOf && page.times.has_frames && seriesOf[k] >= 0) lines.push(make("span", { text: `frame ${frameOf[k]}` }));
    lines.push(make("span", { text: `error ${percent(errorOf(k))}` }));
    tip.replaceChildren(makeThumbnail([posedShape(k)], [outline]), ...lines);
    const [x, y] = [screen[2 * k], screen[2 * k + 1]];
    tip.style.left = `${Math.min(Math.max(x + (x > view.width / 2 ? -150 : 16), 4), Math.max(view.width - 138, 4))}px`;
    tip.style.top = `${Math.min(Math.max(y - 70, 4), Math.max(view.height - 170, 4))}px`;
  }
  requestAnimationFrame(drawMarks);
}

/** The next shape from the selected one in a direction of the map. */
function neighbor(dx, dy) {
  const { selected } = state;
  let best = selected;
  let least = Infinity;
  for (let k = 0; k < nShapes; k++) {
    const [x, y] = [screen[2 * k] - screen[2 * selected], screen[2 * k + 1] - screen[2 * selected + 1]];
    const along = x * dx + y * dy;
    const across = Math.abs(x * dy - y * dx);
    if (along <= 0.5 || across > along) continue;
    const cost = along + 2 * across;
    if (cost < least) [best, least] = [k, cost];
  }
  return best;
}

function choose(k) {
  selectShape(k);
  announce(`Shape ${nameOf(k)}${labelText(k) ? `, ${labelText(k)}` : ""}, error ${percent(errorOf(k))}.`);
}

function zoom(...by) {
  hover(-1);
  zoomBy(...by);
}

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function listen() {
  let grabbed = null;
  const at = (event) => {
    const box = area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  area.addEventListener("pointerdown", (event) => (grabbed = { from: at(event), x: view.x, y: view.y, moved: false }));
  area.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    if (grabbed && event.buttons && view.zoom > 1 && event.pointerType === "mouse") {
      const [dx, dy] = [x - grabbed.from[0], y - grabbed.from[1]];
      if (!grabbed.moved && Math.hypot(dx, dy) < 4) return;
      grabbed.moved = true;
      [view.x, view.y] = [grabbed.x + dx, grabbed.y + dy];
      hover(-1);
      requestAnimationFrame(drawDots);
      return;
    }
    hover(nearestTo(x, y));
  });
  area.addEventListener("pointerleave", () => hover(-1));
  area.addEventListener("click", (event) => {
    if (grabbed && grabbed.moved) return;
    const k = nearestTo(...at(event));
    if (k >= 0) choose(k);
  });
  area.addEventListener(
    "wheel",
    (event) => {
      // Plain scrolling stays with the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), ...at(event));
    },
    { passive: false },
  );
  area.addEventListener("keydown", (event) => {
    const direction = DIRECTIONS[event.key];
    if (direction) choose(neighbor(...direction));
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else return;
    event.preventDefault();
  });
}

function makeTools() {
  const options = [["error", "error"]];
  if (labelNames) options.unshift(["label", "label"]);
  if (seriesOf) options.push(["time", "time"]);
  options.push(["atom", "weight of an atom"]);
  const select = makeSelect("Color dots by", options, state.colorBy, (colorBy) => {
    set(colorBy === "atom" && state.atom < 0 ? { colorBy, atom: 0 } : { colorBy });
  });
  on(["colorBy"], () => (select.value = state.colorBy));
  const box = make("input", { type: "checkbox", checked: true, onchange: () => ((view.showShapes = box.checked), drawDots()) });
  byId("map-tools").append(
    make("label", { class: "inline" }, "color by ", select),
    make("label", { class: "inline" }, box, " shapes"),
    make("button", { type: "button", class: "quiet square", "aria-label": "Zoom in", text: "+", onclick: () => zoom(1.6) }),
    make("button", { type: "button", class: "quiet square", "aria-label": "Zoom out", text: "\u2212", onclick: () => zoom(1 / 1.6) }),
  );
}

/** Draws the map. */
export function startMap() {
  area = byId("map");
  tip = make("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const [first, second] = page.map.shares;
  area.append(dots, marks, tip, make("p", { class: "axis-note", text: `tangent PCA: ${share(first)} across, ${share(second)} up` }));
  area.tabIndex = 0;
  area.setAttribute("role", "application");
  area.setAttribute("aria-roledescription", "map of shapes");
  area.setAttribute("aria-label", `${count(nShapes)} shapes by likeness. Arrow keys go to the next shape in that direction, plus and minus zoom.`);
  if (labelNames && !hasManyLabels) state.colorBy = "label";
  makeTools();
  listen();
  new ResizeObserver(() => {
    if (area.clientWidth === view.width && area.clientHeight === view.height) return;
    [view.width, view.height] = [area.clientWidth, area.clientHeight];
    drawDots();
  }).observe(area);
  on(["colorBy", "highlight"], () => (drawDots(), drawLegend()));
  on(["atom"], () => {
    if (state.colorBy !== "atom") return;
    if (state.atom < 0) set({ colorBy: labelNames ? "label" : "error" });
    drawDots();
    drawLegend();
  });
  on(["selected"], () => {
    if (state.colorBy === "label" && state.highlight < 0 && hasManyLabels) {
      drawDots();
      drawLegend();
    } else drawMarks();
    keepInSight();
  });
  onTheme(() => (drawDots(), drawLegend()));
  drawLegend();
}
