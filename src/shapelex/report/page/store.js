// What the reader has chosen. Views listen to keys; they are told once a frame.
import { codeOf, errorOf, nNonzero, nShapes, worstFirst } from "./data.js";

const listeners = new Map();
const changed = new Set();
let isWaiting = false;

export const state = {
  selected: 0, // shape on the workbench
  sparsity: nNonzero,
  terms: [], // its atoms: {atom, re, im, on}
  isEdited: false,
  atom: -1, // chosen atom, or none
  colorBy: "error",
  highlight: -1, // chosen value of the column that colors the map, or none
  grouping: "", // column whose values are the groups, or none
  start: 0, // shapes of the morph
  end: 0,
  time: 0.5,
};

/** Calls `listener` after any of the keys changed. */
export function on(keys, listener) {
  for (const key of keys) {
    if (!listeners.has(key)) listeners.set(key, new Set());
    listeners.get(key).add(listener);
  }
}

/** Tells the views at the next frame, each once. */
export function touch(...keys) {
  for (const key of keys) changed.add(key);
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(flush);
}

/** Tells the views now. */
export function flush() {
  isWaiting = false;
  const told = new Set();
  const keys = [...changed];
  changed.clear();
  for (const key of keys) for (const listener of listeners.get(key) || []) told.add(listener);
  for (const listener of told) listener();
}

/** Changes what was chosen. */
export function set(values) {
  for (const [key, value] of Object.entries(values)) {
    if (state[key] === value) continue;
    state[key] = value;
    touch(key);
  }
}

/** Puts a shape on the workbench, with its own code. */
export function selectShape(k) {
  if (!(k >= 0 && k < nShapes)) return;
  set({ selected: k });
  loadCode(state.sparsity);
}

/** Takes the code of the shape with so many atoms; what was dragged is undone. */
export function loadCode(sparsity) {
  set({ sparsity });
  state.terms = codeOf(state.selected, sparsity).map((term) => ({ ...term, on: true }));
  state.isEdited = false;
  touch("terms", "isEdited");
}

/** Changes one term of the sum. */
export function changeTerm(index, values) {
  Object.assign(state.terms[index], values);
  state.isEdited = true;
  touch("terms", "isEdited");
}

/** Adds an atom to the sum, with a small weight. */
export function addTerm(term) {
  // A new list, so that views draw it from scratch.
  state.terms = [...state.terms, { ...term, on: true }];
  state.isEdited = true;
  touch("terms", "isEdited");
}

/** A shape of median error to begin with, and another one to morph to, far away. */
export function start(farFrom) {
  const middle = worstFirst[Math.floor(nShapes / 2)];
  selectShape(middle);
  set({ start: middle, end: farFrom(middle) });
  touch("selected", "sparsity", "start", "end", "time", "colorBy", "atom", "grouping", "subset");
}

/** Error of the shape at the sparsity on the slider, as Python computed it. */
export function fittedError() {
  return errorOf(state.selected, state.sparsity);
}
