// Light and dark, and the colors that canvases need to know.
import { byId } from "./dom.js";

const listeners = [];
const media = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : media.matches;
}

/** The value of a custom property of the style. */
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** How many colors tell groups apart. */
export const N_COLORS = 8;

const N_ATOM_COLORS = 4;

/** Gives the line of an atom of a shape its look: a color, and dashes from the fifth atom on. Groups have other colors. */
export function styleAsAtom(element, index) {
  element.style.setProperty("--color", `var(--atom-${index % N_ATOM_COLORS})`);
  element.style.setProperty("--dashes", ["none", "6 3", "2 3"][Math.floor(index / N_ATOM_COLORS) % 3]);
}

/** Calls `listener` when the colors change. */
export function onTheme(listener) {
  listeners.push(listener);
}

function tell() {
  const button = byId("theme");
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", isDark() ? "Switch to light colors" : "Switch to dark colors");
  for (const listener of listeners) listener();
}

/** Makes the button work. */
export function startTheme() {
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    tell();
  });
  media.addEventListener("change", tell);
  // Paper is always light.
  matchMedia("print").addEventListener("change", tell);
  tell();
}

/** A color between two of the style's, as [r, g, b]. */
export function makeRamp() {
  const stops = ["--ramp-0", "--ramp-1", "--ramp-2"].map((name) => parse(color(name)));
  return (share) => {
    const at = Math.min(1, Math.max(0, share)) * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    return stops[low].map((value, i) => Math.round(value + (at - low) * (stops[low + 1][i] - value)));
  };
}

/** A color between two of the style's, as text. */
export function mixed(from, to, share) {
  const [first, last] = [parse(color(from)), parse(color(to))];
  return `rgb(${first.map((value, i) => Math.round(value + share * (last[i] - value))).join(",")})`;
}

/** The fonts of the page. */
export function fontFamily() {
  return getComputedStyle(document.body).fontFamily;
}

let ruler = null;

/** How wide a text is, in pixels. */
export function textWidth(text, size) {
  ruler ??= document.createElement("canvas").getContext("2d");
  ruler.font = `${size}px ${fontFamily()}`;
  return ruler.measureText(text).width;
}

function parse(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}
