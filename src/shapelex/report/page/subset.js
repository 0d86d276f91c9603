// Which shapes are shown, because they meet all conditions, and which are excluded.
import { nShapes } from "./data.js";
import { touch } from "./store.js";

const meets = new Uint8Array(nShapes).fill(1);
const excluded = new Uint8Array(nShapes);
const conditions = new Map();

/** Whether shape k meets the conditions. */
export function isShown(k) {
  return meets[k] === 1;
}

/** Whether shape k is excluded. */
export function isExcluded(k) {
  return excluded[k] === 1;
}

/** Whether shape k is shown and not excluded: means, groups and rankings are of these. */
export function isCounted(k) {
  return meets[k] === 1 && excluded[k] === 0;
}

/** The shapes for which a question is answered with yes. */
export function shapesWhere(question) {
  const shapes = [];
  for (let k = 0; k < nShapes; k++) if (question(k)) shapes.push(k);
  return shapes;
}

/** Whether all shapes of the page are shown and none is excluded. */
export function isWhole() {
  return conditions.size === 0 && !excluded.includes(1);
}

/** The conditions, as pairs of key and words. */
export function listConditions() {
  return Array.from(conditions, ([key, { words }]) => [key, words]);
}

/** Adds a condition, or replaces that of the same key. */
export function setCondition(key, words, test) {
  conditions.set(key, { words, test });
  refresh();
}

/** Removes a condition; all of them without a key. */
export function removeCondition(key) {
  if (key === undefined) conditions.clear();
  else conditions.delete(key);
  refresh();
}

/** Excludes shapes, or includes them again. */
export function setExcluded(shapes, value) {
  for (const k of shapes) excluded[k] = value ? 1 : 0;
  touch("subset");
}

function refresh() {
  const tests = Array.from(conditions.values(), ({ test }) => test);
  for (let k = 0; k < nShapes; k++) meets[k] = tests.every((test) => test(k)) ? 1 : 0;
  touch("subset");
}
