// The map: a canvas of dots, drawn anew only when view, colors or size change, and a canvas of marks above it.
import { errorOf, frameOf, labelNames, labelOf, labelText, modulusOf, nameOf, nShapes, page, places, seriesOf } from "./data.js";
import { announce, byId, count, make, makeSelect, percent, share } from "./dom.js";
import { makeThumbnail, outline, posedShape } from "./drawing.js";
import { on, selectShape, set, state } from "./store.js";
import { color, makeRamp, N_COLORS, onTheme } from "./theme.js";

const REACH = 24; // pixels from the pointer within which a dot answers
const CELL = 64; // pixels of a shape drawn on the map
const view = { zoom: 1, x: 0, y: 0 };
const screen = new Float32Array(2 * nShapes);
const extent = measure();
let dots, marks, tip, area;
let width = 0;
let height = 0;
let hovered = -1;
let showShapes = true;
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

function project() {
  const scale = view.zoom * Math.min((width - 2 * 26) / extent.width, (height - 2 * 26) / extent.height);
  for (let k = 0; k < nShapes; k++) {
    screen[2 * k] = width / 2 + view.x + scale * (places[2 * k] - extent.x);
    screen[2 * k + 1] = height / 2 + view.y - scale * (places[2 * k + 1] - extent.y);
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
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** The value that dots are colored by, between 0 and 1, or null for labels. */
function shareOf() {
  if (state.colorBy === "error") {
    const most = page.errors.p95 || 1;
    return (k) => Math.min(1, errorOf(k) / most);
  }
  if (state.colorBy === "atom" && state.atom >= 0) {
    const values = Float64Array.from({ length: nShapes }, (_, k) => modulusOf(k, state.atom));
    const most = values.reduce((a, b) => Math.max(a, b), 1e-9);
    return (k) => values[k] / most;
  }
  if (state.colorBy === "time" && frameOf) {
    const first = frameOf.reduce((a, b) => Math.min(a, b));
    const last = frameOf.reduce((a, b) => Math.max(a, b));
    return (k) => (frameOf[k] - first) / (last - first || 1);
  }
  return null;
}

function emphasized() {
  if (state.highlight >= 0) return state.highlight;
  return labelNames && labelNames.length > N_COLORS + 1 ? labelOf[state.selected] : -1;
}

/** The color of each dot, in groups: one fill a group is much faster than one a dot. */
function groupByColor() {
  const groups = new Map();
  const put = (key, k) => (groups.get(key) || groups.set(key, []).get(key)).push(k);
  const value = shareOf();
  if (value) {
    const ramp = makeRamp();
    const order = Array.from({ length: nShapes }, (_, k) => k).sort((i, j) => value(i) - value(j));
    for (const k of order) put(`rgb(${ramp(Math.round(24 * value(k)) / 24).join(" ")})`, k);
  } else if (labelNames && state.colorBy === "label") {
    const strong = emphasized();
    const muted = color("--muted");
    const isMany = labelNames.length > N_COLORS + 1;
    const colorOf = (label) => {
      if (strong >= 0) return label === strong ? color(isMany ? "--accent" : `--series-${label % N_COLORS}`) : muted;
      return labelNames[label] === "" || isMany ? muted : color(`--series-${label % N_COLORS}`);
    };
    put(muted, -1);
    for (let k = 0; k < nShapes; k++) put(colorOf(labelOf[k]), k);
  } else {
    for (let k = 0; k < nShapes; k++) put(color("--accent"), k);
  }
  return groups;
}

function drawDots() {
  if (!width) return;
  project();
  const context = fit(dots);
  context.clearRect(0, 0, width, height);
  drawAxes(context);
  if (state.colorBy === "time" && frameOf) drawPaths(context);
  const radius = nShapes > 2000 ? 2.1 : nShapes > 300 ? 2.7 : 4;
  const muted = color("--muted");
  const isStrong = state.colorBy === "label" && emphasized() >= 0;
  const fillGroup = (fill, members, size) => {
    context.fillStyle = fill;
    context.globalAlpha = fill === muted ? 0.45 : nShapes > 1000 ? 0.75 : 0.9;
    context.beginPath();
    for (const k of members) {
      if (k < 0) continue;
      const [x, y] = [screen[2 * k], screen[2 * k + 1]];
      context.moveTo(x + size, y);
      context.arc(x, y, size, 0, 2 * Math.PI);
    }
    context.fill();
  };
  const groups = [...groupByColor()];
  const isTop = ([fill]) => isStrong && fill !== muted;
  for (const group of groups) if (!isTop(group)) fillGroup(...group, radius);
  if (showShapes) drawShapes(context);
  // The shapes of the chosen label lie above all others.
  for (const group of groups) if (isTop(group)) fillGroup(...group, radius + 1.5);
  isDrawn = true;
  drawMarks();
}

/** Joins the shapes of each series in the order of time. */
function drawPaths(context) {
  const order = Array.from({ length: nShapes }, (_, k) => k).sort((i, j) => seriesOf[i] - seriesOf[j] || frameOf[i] - frameOf[j]);
  context.strokeStyle = color("--edge");
  context.lineWidth = 1;
  context.beginPath();
  order.forEach((k, i) => {
    const isStart = i === 0 || seriesOf[k] !== seriesOf[order[i - 1]];
    context[isStart ? "moveTo" : "lineTo"](screen[2 * k], screen[2 * k + 1]);
  });
  context.stroke();
}

function drawAxes(context) {
  context.globalAlpha = 1;
  context.strokeStyle = color("--line");
  context.lineWidth = 1;
  context.beginPath();
  const scale = view.zoom * Math.min((width - 52) / extent.width, (height - 52) / extent.height);
  const x = Math.round(width / 2 + view.x - scale * extent.x) + 0.5;
  const y = Math.round(height / 2 + view.y + scale * extent.y) + 0.5;
  context.moveTo(x, 0);
  context.lineTo(x, height);
  context.moveTo(0, y);
  context.lineTo(width, y);
  context.stroke();
}

/** Draws one shape in every cell that has any: that nearest to the middle of the cell. */
function drawShapes(context) {
  const nearest = new Map();
  for (let k = 0; k < nShapes; k++) {
    const [x, y] = [screen[2 * k], screen[2 * k + 1]];
    if (x < 0 || y < 0 || x > width || y > height) continue;
    const [column, row] = [Math.floor(x / CELL), Math.floor(y / CELL)];
    const away = Math.hypot(x - (column + 0.5) * CELL, y - (row + 0.5) * CELL);
    const key = row * 1000 + column;
    if (!nearest.has(key) || nearest.get(key)[1] > away) nearest.set(key, [k, away]);
  }
  context.lineJoin = "round";
  for (const [k] of nearest.values()) {
    const points = posedShape(k);
    let reach = 0;
    for (let i = 0; i < points.length; i++) reach = Math.max(reach, Math.abs(points[i]));
    const scale = (0.36 * CELL) / reach;
    context.beginPath();
    for (let i = 0; i < points.length; i += 2) {
      context.lineTo(screen[2 * k] + scale * points[i], screen[2 * k + 1] - scale * points[i + 1]);
    }
    context.globalAlpha = 0.9;
    context.strokeStyle = color("--paper");
    context.lineWidth = 3.5;
    context.stroke();
    context.globalAlpha = 0.85;
    context.strokeStyle = color("--ink");
    context.lineWidth = 1;
    context.stroke();
  }
  context.globalAlpha = 1;
}

function drawMarks() {
  if (!isDrawn) return;
  const context = marks.getContext("2d");
  if (marks.width !== dots.width || marks.height !== dots.height) fit(marks);
  context.clearRect(0, 0, width, height);
  const ring = (k, stroke, radius, lineWidth) => {
    context.strokeStyle = color(stroke);
    context.lineWidth = lineWidth;
    context.beginPath();
    context.arc(screen[2 * k], screen[2 * k + 1], radius, 0, 2 * Math.PI);
    context.stroke();
  };
  if (hovered >= 0) ring(hovered, "--ink", 6, 1.5);
  ring(state.selected, "--paper", 8, 5);
  ring(state.selected, "--accent", 8, 2.5);
  context.fillStyle = color("--accent");
  context.beginPath();
  context.arc(screen[2 * state.selected], screen[2 * state.selected + 1], 3.5, 0, 2 * Math.PI);
  context.fill();
}

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
  if (k === hovered) return;
  hovered = k;
  tip.hidden = k < 0;
  if (k >= 0) {
    const lines = [make("b", { text: nameOf(k) })];
    if (labelText(k)) lines.push(make("span", { text: labelText(k) }));
    if (frameOf && page.times.has_frames) lines.push(make("span", { text: `frame ${frameOf[k]}` }));
    lines.push(make("span", { text: `error ${percent(errorOf(k))}` }));
    tip.replaceChildren(makeThumbnail([posedShape(k)], [outline]), ...lines);
    const [x, y] = [screen[2 * k], screen[2 * k + 1]];
    tip.style.left = `${Math.min(Math.max(x + (x > width / 2 ? -150 : 16), 4), Math.max(width - 138, 4))}px`;
    tip.style.top = `${Math.min(Math.max(y - 70, 4), Math.max(height - 170, 4))}px`;
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

function zoomBy(factor, x = screen[2 * state.selected], y = screen[2 * state.selected + 1]) {
  const zoom = Math.min(40, Math.max(1, view.zoom * factor));
  const change = zoom / view.zoom;
  view.x = x - width / 2 - change * (x - width / 2 - view.x);
  view.y = y - height / 2 - change * (y - height / 2 - view.y);
  view.zoom = zoom;
  if (zoom === 1) [view.x, view.y] = [0, 0];
  hover(-1);
  requestAnimationFrame(drawDots);
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
      zoomBy(Math.exp(-event.deltaY / 300), ...at(event));
    },
    { passive: false },
  );
  area.addEventListener("keydown", (event) => {
    const direction = DIRECTIONS[event.key];
    if (direction) choose(neighbor(...direction));
    else if (event.key === "+" || event.key === "=") zoomBy(1.5);
    else if (event.key === "-") zoomBy(1 / 1.5);
    else return;
    event.preventDefault();
  });
}

function drawLegend() {
  const place = byId("legend");
  const { colorBy } = state;
  if (colorBy === "label" && labelNames) {
    const isMany = labelNames.length > N_COLORS + 1;
    const strong = emphasized();
    place.replaceChildren(
      ...labelNames.map((name, label) => {
        const swatch = make("span", { class: "swatch" });
        const isPlain = isMany ? label !== strong : name === "";
        swatch.style.background = isPlain ? "var(--muted)" : isMany ? "var(--accent)" : `var(--series-${label % N_COLORS})`;
        return make(
          "button",
          {
            type: "button",
            class: "label-button",
            "aria-pressed": String(label === strong),
            onclick: () => set({ highlight: state.highlight === label ? -1 : label }),
          },
          swatch,
          make("span", { text: name || "no label" }),
          make("span", { class: "note", text: count(page.shapes.labels.counts[label]) }),
        );
      }),
    );
    return;
  }
  const words = {
    error: ["error 0", `${percent(page.errors.p95)} or more`],
    atom: [`atom ${state.atom} not used`, "most"],
    time: ["first", "last"],
  }[colorBy];
  const parts = words ? [make("span", { text: words[0] }), make("span", { class: "ramp", "aria-hidden": "true" }), make("span", { text: words[1] })] : [];
  place.replaceChildren(...parts);
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
  const box = make("input", { type: "checkbox", checked: true, onchange: () => ((showShapes = box.checked), drawDots()) });
  byId("map-tools").append(
    make("label", { class: "inline" }, "color by ", select),
    make("label", { class: "inline" }, box, " shapes"),
    make("button", { type: "button", class: "quiet square", "aria-label": "Zoom in", text: "+", onclick: () => zoomBy(1.6) }),
    make("button", { type: "button", class: "quiet square", "aria-label": "Zoom out", text: "\u2212", onclick: () => zoomBy(1 / 1.6) }),
  );
}

/** The map as it is seen, on one canvas. */
export function mapCanvas() {
  const whole = make("canvas", { width: dots.width, height: dots.height });
  const context = whole.getContext("2d");
  context.fillStyle = color("--paper");
  context.fillRect(0, 0, whole.width, whole.height);
  context.drawImage(dots, 0, 0);
  context.drawImage(marks, 0, 0);
  return whole;
}

/** Draws the map. */
export function startMap() {
  area = byId("map");
  dots = make("canvas", { "aria-hidden": "true" });
  marks = make("canvas", { "aria-hidden": "true" });
  tip = make("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const [first, second] = page.map.shares;
  area.append(dots, marks, tip, make("p", { class: "axis-note", text: `tangent PCA: ${share(first)} across, ${share(second)} up` }));
  area.tabIndex = 0;
  area.setAttribute("role", "application");
  area.setAttribute("aria-roledescription", "map of shapes");
  area.setAttribute("aria-label", `${count(nShapes)} shapes by likeness. Arrow keys go to the next shape in that direction, plus and minus zoom.`);
  if (labelNames && labelNames.length <= N_COLORS + 1) state.colorBy = "label";
  makeTools();
  listen();
  new ResizeObserver(() => {
    if (area.clientWidth === width && area.clientHeight === height) return;
    [width, height] = [area.clientWidth, area.clientHeight];
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
    if (state.colorBy === "label" && state.highlight < 0 && labelNames.length > N_COLORS + 1) {
      drawDots();
      drawLegend();
    } else drawMarks();
  });
  onTheme(() => (drawDots(), drawLegend()));
  drawLegend();
}
