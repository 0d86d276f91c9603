// What the colors of the map mean.
import { categoriesOf, groupText, isCategorical } from "./categories.js";
import { columns, errorOf, frameOf, nShapes, page } from "./data.js";
import { byId, count, make, number, percent } from "./dom.js";
import { sharesOf } from "./shares.js";
import { set, state } from "./store.js";
import { isShown } from "./subset.js";
import { color, makeRamp, N_COLORS } from "./theme.js";

const N_STEPS = 24; // colors of a ramp

/** What dots can be colored by, as pairs of key and words. */
export function listColorings() {
  const named = columns.map((column, i) => [column.kind === "id" ? "" : `column:${i}`, column.name]).filter(([key]) => key);
  const own = [["error", "error"], ["atom", "share of an atom"]];
  if (frameOf) own.push(["time", "time"]);
  // The label comes first, where there is one.
  const isLabel = ([, name]) => name === "label";
  return [...named.filter(isLabel), ...own, ...named.filter((pair) => !isLabel(pair))];
}

/** The column that colors the map, or null. */
function chosenColumn() {
  return state.colorBy.startsWith("column:") ? columns[Number(state.colorBy.slice(7))] : null;
}

/** The groups that have colors, or null where colors stand for numbers. */
export function shownCategories() {
  const column = chosenColumn();
  return column && isCategorical(column) ? categoriesOf(column) : null;
}

/** Whether groups are too many for a color each: then one of them is shown at a time. */
function isCrowded(categories) {
  return categories.names.length > N_COLORS + 1;
}

/** The value that dots are colored by, between 0 and 1 or NaN, and words for both ends of the scale; null for groups. */
export function shownScale() {
  if (state.colorBy === "error") {
    const most = page.errors.p95 || 1;
    return { value: (k) => Math.min(1, errorOf(k) / most), words: ["error 0", `${percent(page.errors.p95)} or more`] };
  }
  if (state.colorBy === "atom") {
    const values = sharesOf(Math.max(0, state.atom));
    const most = values.reduce((a, b) => Math.max(a, b), 1e-9);
    return { value: (k) => values[k] / most, words: [`atom ${Math.max(0, state.atom)} not used`, `explains ${percent(most)}`] };
  }
  const column = chosenColumn();
  const values = state.colorBy === "time" ? frameOf : column && !isCategorical(column) ? column.values : null;
  if (!values) return null;
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const words = low <= high ? [`${column ? column.name : "time"} ${number(low)}`, number(high)] : ["no numbers", ""];
  return { value: (k) => (Number.isFinite(values[k]) ? (values[k] - low) / (high - low || 1) : NaN), words };
}

/** The group that stands out, or −1. */
export function emphasized() {
  const categories = shownCategories();
  if (!categories) return -1;
  if (state.highlight >= 0 && state.highlight < categories.names.length) return state.highlight;
  return isCrowded(categories) ? categories.numbers[state.selected] : -1;
}

/** The style's name of the color of a group, or of no color. */
export function colorNameOf(categories, group) {
  const strong = emphasized();
  if (strong >= 0) return group === strong ? (isCrowded(categories) ? "--accent" : `--series-${group % N_COLORS}`) : "--muted";
  return categories.names[group] === "" || isCrowded(categories) ? "--muted" : `--series-${group % N_COLORS}`;
}

/** The dots of each color, the lowest first: one fill a color is much faster than one a dot. */
export function groupByColor() {
  const groups = new Map();
  const put = (fill, isMuted, k) => {
    const key = `${fill} ${isMuted}`;
    if (!groups.has(key)) groups.set(key, { fill, isMuted, members: [] });
    groups.get(key).members.push(k);
  };
  const muted = color("--muted");
  const shown = [];
  // Shapes that do not meet the conditions lie below all others.
  for (let k = 0; k < nShapes; k++) {
    if (isShown(k)) shown.push(k);
    else put(color("--line"), true, k);
  }
  const scale = shownScale();
  const categories = shownCategories();
  if (scale) {
    const ramp = makeRamp();
    const values = Float64Array.from({ length: nShapes }, (_, k) => scale.value(k));
    for (const k of shown) if (Number.isNaN(values[k])) put(muted, true, k);
    const known = shown.filter((k) => !Number.isNaN(values[k])).sort((i, j) => values[i] - values[j]);
    for (const k of known) put(`rgb(${ramp(Math.round(N_STEPS * values[k]) / N_STEPS).join(",")})`, false, k);
  } else {
    const names = categories.names.map((_, group) => colorNameOf(categories, group));
    const fills = names.map(color);
    for (const k of shown) if (names[categories.numbers[k]] === "--muted") put(muted, true, k);
    for (const k of shown) if (names[categories.numbers[k]] !== "--muted") put(fills[categories.numbers[k]], false, k);
  }
  return groups.values();
}

/** Says what the colors mean; groups are buttons that make theirs stand out. */
export function drawLegend() {
  const place = byId("legend");
  const categories = shownCategories();
  if (!categories) {
    const [low, high] = shownScale().words;
    place.replaceChildren(make("span", { text: low }), make("span", { class: "ramp", "aria-hidden": "true" }), make("span", { text: high }));
    return;
  }
  const strong = emphasized();
  const focused = [...place.children].indexOf(document.activeElement);
  place.replaceChildren(
    ...categories.names.map((name, group) => {
      const swatch = make("span", { class: "swatch" });
      swatch.style.background = `var(${colorNameOf(categories, group)})`;
      return make(
        "button",
        {
          type: "button",
          class: "label-button",
          "aria-pressed": String(group === strong),
          onclick: () => set({ highlight: state.highlight === group ? -1 : group }),
        },
        swatch,
        make("span", { text: groupText(name) }),
        make("span", { class: "note", text: count(categories.counts[group]) }),
      );
    }),
  );
  const buttons = /** @type {any} */ (place.children);
  if (focused >= 0 && focused < buttons.length) buttons[focused].focus();
  else if (strong >= 0) place.scrollTop = buttons[strong].offsetTop - 4;
}
