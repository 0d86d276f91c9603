// What the colors of the map mean.
import { errorOf, frameOf, labelNames, labelOf, modulusOf, nShapes, page } from "./data.js";
import { byId, count, make, percent } from "./dom.js";
import { set, state } from "./store.js";
import { color, makeRamp, N_COLORS } from "./theme.js";

/** Whether labels are too many for a color each: then one of them is shown at a time. */
export const hasManyLabels = labelNames !== null && labelNames.length > N_COLORS + 1;

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

/** The label that stands out, or −1. */
export function emphasized() {
  if (state.highlight >= 0) return state.highlight;
  return hasManyLabels ? labelOf[state.selected] : -1;
}

/** The color of each dot, in groups: one fill a group is much faster than one a dot. */
export function groupByColor() {
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
    const colorOf = (label) => {
      if (strong >= 0) return label === strong ? color(hasManyLabels ? "--accent" : `--series-${label % N_COLORS}`) : muted;
      return labelNames[label] === "" || hasManyLabels ? muted : color(`--series-${label % N_COLORS}`);
    };
    const colors = labelNames.map((_, label) => colorOf(label));
    // Muted dots lie below the others.
    groups.set(muted, []);
    for (let k = 0; k < nShapes; k++) put(colors[labelOf[k]], k);
  } else {
    groups.set(color("--accent"), Array.from({ length: nShapes }, (_, k) => k));
  }
  return groups;
}

/** Says what the colors mean; labels are buttons that make theirs stand out. */
export function drawLegend() {
  const place = byId("legend");
  const { colorBy } = state;
  if (colorBy === "label" && labelNames) {
    const strong = emphasized();
    const focused = [...place.children].indexOf(document.activeElement);
    place.replaceChildren(
      ...labelNames.map((name, label) => {
        const swatch = make("span", { class: "swatch" });
        const isPlain = hasManyLabels ? label !== strong : name === "";
        swatch.style.background = isPlain ? "var(--muted)" : hasManyLabels ? "var(--accent)" : `var(--series-${label % N_COLORS})`;
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
    if (focused >= 0) place.children[focused].focus();
    else if (strong >= 0) place.scrollTop = place.children[strong].offsetTop - 4;
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
