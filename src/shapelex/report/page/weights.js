// The weights as arrows in the complex plane. Dragging an arrow turns and scales its atom.
import { atomOrder } from "./data.js";
import { announce, byId, degrees, make, makeSelect, makeSvg } from "./dom.js";
import { makeThumbnail, outline, pathOf, posedAtom } from "./drawing.js";
import { placeTexts } from "./labels.js";
import { bestWeights } from "./least_squares.js";
import { addTerm, changeTerm, flush, loadCode, on, state } from "./store.js";
import { arrowOf, originalConfiguration, weightOf } from "./sum.js";
import { styleAsAtom, textWidth } from "./theme.js";
import { scaled } from "./complex.js";

const REACH = 84; // units of the drawing from the origin to the longest arrow
const HEAD = 7;
const EDGE = 100; // half the width of the drawing
const [GRID_SIZE, NUMBER_SIZE] = [6, 8]; // of the texts, as in the style
let gridBoxes = []; // where texts of the grid stand
let plane, circles, arrows, list, reset, adder;
let range = 1; // modulus at REACH
let handles = [];
let rows = [];

/** Round radii, two to four of them, up to `range`. */
function roundRadii() {
  const raw = range / 3.5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((value) => value >= raw);
  return Array.from({ length: Math.floor(range / step) }, (_, i) => step * (i + 1));
}

function drawPlane() {
  const arrowEnds = state.terms.map(arrowOf);
  range = 1.04 * Math.max(0.05, ...arrowEnds.map(([x, y]) => Math.hypot(x, y)));
  const radii = roundRadii();
  // Radii are written where no arrow is near.
  const angles = [-70, -110, -20, -160, 20, 160, 70, 110].map((angle) => (angle * Math.PI) / 180);
  const nearness = (angle) => Math.max(-1, ...arrowEnds.map(([x, y]) => Math.cos(Math.atan2(y, x) - angle)));
  const along = angles.reduce((best, angle) => (nearness(angle) < nearness(best) - 1e-9 ? angle : best));
  const isBelow = arrowEnds.some(([x, y]) => x > 0.5 * range && y < 0 && y > -0.25 * range);
  const texts = radii.map((radius) => [String(Number(radius.toPrecision(3))), ((REACH * radius) / range) * Math.cos(along), ((-REACH * radius) / range) * Math.sin(along)]);
  texts.push(["as drawn", REACH, isBelow ? -6 : 7]);
  gridBoxes = texts.map(([text, x, y]) => boxOf(text, GRID_SIZE, x, y));
  circles.replaceChildren(
    makeSvg("path", { class: "grid", d: `M${-REACH} 0H${REACH}M0 ${-REACH}V${REACH}` }),
    ...radii.map((radius) => makeSvg("circle", { class: "grid", r: (REACH * radius) / range })),
    ...texts.map(([text, x, y]) => makeSvg("text", { class: "grid-text", x, y, text })),
  );
}

function rebuild() {
  drawPlane();
  handles = state.terms.map((term, index) => makeHandle(term, index));
  arrows.replaceChildren(...handles.map((handle) => handle.group));
  rows = state.terms.map((term, index) => makeRow(term, index));
  list.replaceChildren(...rows.map((row) => row.item));
  drawArrows();
}

function makeHandle(term, index) {
  const line = makeSvg("line", { class: "arrow-line" });
  const head = makeSvg("path", { class: "arrow-head" });
  const target = makeSvg("circle", { class: "arrow-target", r: 13 });
  const text = makeSvg("text", { class: "arrow-text", text: String(term.atom) });
  const group = makeSvg(
    "g",
    {
      class: "arrow",
      tabindex: 0,
      role: "slider",
      "aria-roledescription": "weight",
      "aria-label": `Weight of atom ${term.atom}. Up and down change its length, left and right turn it, space switches it, escape takes it back.`,
      "aria-valuemin": 0,
      "aria-valuemax": 2,
      "data-atom": term.atom,
    },
    line,
    head,
    target,
    text,
  );
  styleAsAtom(group, index);
  group.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    group.focus({ preventScroll: true });
    group.setPointerCapture(event.pointerId);
    group.classList.add("grabbed");
    const move = (moved) => setArrow(index, ...pointAt(moved));
    const drop = () => {
      group.classList.remove("grabbed");
      group.removeEventListener("pointermove", move);
      group.removeEventListener("pointerup", drop);
      group.removeEventListener("pointercancel", drop);
      drawPlane();
      drawArrows();
    };
    group.addEventListener("pointermove", move);
    group.addEventListener("pointerup", drop);
    group.addEventListener("pointercancel", drop);
  });
  // The style's touch-action does not reach inside a drawing: without this a finger would scroll the page.
  group.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  group.addEventListener("keydown", (event) => pressed(event, index));
  return { group, line, head, text, target };
}

/** The point of the plane under the pointer; arrows cannot leave the drawing. */
function pointAt(event) {
  const matrix = plane.getScreenCTM().inverse();
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
  const away = Math.hypot(point.x, point.y);
  const limit = Math.min(1, 98 / Math.max(away, 1e-9));
  return [(limit * point.x * range) / REACH, (-limit * point.y * range) / REACH];
}

function setArrow(index, x, y) {
  const [re, im] = weightOf(state.terms[index].atom, x, y);
  changeTerm(index, { re, im, on: true });
}

function pressed(event, index) {
  const [x, y] = arrowOf(state.terms[index]);
  const [modulus, angle] = [Math.hypot(x, y), Math.atan2(y, x)];
  const length = event.shiftKey ? 0.1 : 0.01;
  const turn = ((event.shiftKey ? 10 : 1) * Math.PI) / 180;
  const polar = (r, a) => setArrow(index, Math.max(0, r) * Math.cos(a), Math.max(0, r) * Math.sin(a));
  if (event.key === "ArrowUp") polar(modulus + length, angle);
  else if (event.key === "ArrowDown") polar(Math.max(1e-4, modulus - length), angle);
  else if (event.key === "ArrowLeft") polar(modulus, angle + turn);
  else if (event.key === "ArrowRight") polar(modulus, angle - turn);
  else if (event.key === " ") changeTerm(index, { on: !state.terms[index].on });
  else if (event.key === "Escape") restore(index);
  else return;
  event.preventDefault();
}

/** Gives the atoms that are on the weights that come nearest to the shape. */
function refit() {
  const used = state.terms.map((_, index) => index).filter((index) => state.terms[index].on);
  const weights = bestWeights(originalConfiguration(), used.map((index) => state.terms[index].atom));
  used.forEach((index, i) => changeTerm(index, { re: weights[i][0], im: weights[i][1] }));
  drawPlane();
  announce("The atoms that are on have their best weights.");
}

function add(atom) {
  const [re, im] = weightOf(atom, 0.3 * range, 0);
  addTerm({ atom, re, im });
  flush();
  handles[handles.length - 1].group.focus();
}

/** Offers the atoms that are not in the sum. */
function offerAtoms() {
  const used = new Set(state.terms.map((term) => term.atom));
  const options = atomOrder.filter((atom) => !used.has(atom)).map((atom) => [String(atom), `atom ${atom}`]);
  const select = makeSelect("Add an atom to the sum", [["", "Add an atom…"], ...options], "", (value) => value && add(Number(value)));
  adder.replaceChildren(select);
}

function restore(index) {
  const { re0, im0 } = state.terms[index];
  changeTerm(index, { re: re0, im: im0, on: true });
}

function makeRow(term, index) {
  const box = make("input", {
    type: "checkbox",
    "aria-label": `Atom ${term.atom} in the sum`,
    onchange: () => changeTerm(index, { on: box.checked }),
  });
  const thumbnail = makeThumbnail([posedAtom(term.atom), posedAtom(term.atom)], [`${outline} ghost`, "curve turned"]);
  const numbers = make("span", { class: "numbers" });
  const item = make(
    "li",
    {},
    make("label", {}, box, makeSvg("svg", { class: "line-swatch", viewBox: "0 0 18 4", "aria-hidden": "true" }, makeSvg("line", { class: "arrow-line", x1: 1, x2: 17, y1: 2, y2: 2 })), make("span", { text: `atom ${term.atom}` })),
    thumbnail,
    numbers,
  );
  styleAsAtom(item, index);
  return { item, box, numbers, turned: thumbnail.lastChild, atomCurve: posedAtom(term.atom) };
}

/** The box of a text whose middle is at a point. */
function boxOf(text, size, x, y) {
  return { x, y, width: textWidth(text, size) + 2, height: 1.2 * size };
}

/** Boxes for the numbers of the arrows, near their tips; the longest arrow has the first choice. */
function placeNumbers() {
  const tips = state.terms.map((term) => arrowOf(term)).map(([x, y]) => [(REACH * x) / range, (-REACH * y) / range]);
  const order = tips.map((_, i) => i).sort((i, j) => Math.hypot(...tips[j]) - Math.hypot(...tips[i]));
  const boxes = placeTexts(order.map((i) => ({ tip: tips[i], ...boxOf(String(state.terms[i].atom), NUMBER_SIZE, 0, 0) })), gridBoxes, EDGE);
  return tips.map((_, i) => boxes[order.indexOf(i)]);
}

function drawArrows() {
  const numbers = placeNumbers();
  state.terms.forEach((term, index) => {
    const [x, y] = arrowOf(term);
    const [px, py] = [(REACH * x) / range, (-REACH * y) / range];
    const length = Math.hypot(px, py);
    const [ux, uy] = length > 1e-9 ? [px / length, py / length] : [1, 0];
    const { group, line, head, text, target } = handles[index];
    const back = Math.max(0, length - HEAD);
    line.setAttribute("x2", ux * back);
    line.setAttribute("y2", uy * back);
    const [bx, by] = [px - HEAD * ux, py - HEAD * uy];
    head.setAttribute("d", `M${px} ${py}L${bx - 3.2 * uy} ${by + 3.2 * ux}L${bx + 3.2 * uy} ${by - 3.2 * ux}Z`);
    text.setAttribute("x", numbers[index].x);
    text.setAttribute("y", numbers[index].y);
    target.setAttribute("cx", px - 3 * ux);
    target.setAttribute("cy", py - 3 * uy);
    group.classList.toggle("off", !term.on);
    const modulus = Math.hypot(x, y);
    const angle = Math.atan2(y, x);
    group.setAttribute("aria-valuenow", modulus.toFixed(3));
    group.setAttribute("aria-valuetext", `${term.on ? "" : "off, "}length ${modulus.toFixed(2)}, rotated by ${degrees(angle)}`);
    const row = rows[index];
    row.box.checked = term.on;
    row.item.classList.toggle("off", !term.on);
    row.numbers.textContent = `${modulus.toFixed(2)} · ${degrees(angle)}`;
    row.turned.setAttribute("d", pathOf(scaled(x, y, row.atomCurve)));
  });
  reset.disabled = !state.isEdited;
}

/** The drawing, for downloads. */
export function weightsDrawing() {
  return plane;
}

let built = null;

function update() {
  // New terms, or the same ones changed?
  if (built !== state.terms) {
    built = state.terms;
    for (const term of built) if (term.re0 === undefined) [term.re0, term.im0] = [term.re, term.im];
    rebuild();
    offerAtoms();
  } else drawArrows();
}

/** Makes the panel. */
export function startWeights() {
  circles = makeSvg("g", {});
  arrows = makeSvg("g", {});
  plane = makeSvg("svg", { class: "plane", viewBox: `${-EDGE} ${-EDGE} ${2 * EDGE} ${2 * EDGE}`, role: "group", "aria-label": "Complex weights as arrows" }, circles, arrows);
  list = make("ul", { class: "terms" });
  reset = make("button", {
    type: "button",
    class: "quiet",
    id: "reset",
    text: "Reset",
    onclick: () => {
      loadCode(state.sparsity);
      announce("The weights are those of the shape again.");
    },
  });
  adder = make("span", {});
  const best = make("button", { type: "button", class: "quiet", id: "refit", text: "Best weights", onclick: refit });
  byId("weights-tools").append(best, reset);
  byId("weights").append(
    plane,
    list,
    adder,
    make("p", { class: "hint", text: "Drag an arrow, or focus it and use the arrow keys. An arrow to the right means that the atom is not rotated, compared with the drawing above." }),
  );
  on(["terms", "selected"], update);
}
