// Drawings as SVG and PNG, codes as CSV: made in the page, written by the browser.
import { atoms, codeOf, errorOf, frameOf, labelNames, labelOf, nameOf, nNonzero, nShapes, page, seriesOf } from "./data.js";
import { count, make, makeSvg } from "./dom.js";
import { color } from "./theme.js";

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "vector-effect", "paint-order", "display"];

function save(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** A copy that looks the same without the style of the page. */
function standalone(drawing) {
  const copy = drawing.cloneNode(true);
  const [from, to] = [[drawing, ...drawing.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of KEPT) to[i].setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "style", "tabindex", "role"]) to[i].removeAttribute(name);
  });
  return copy;
}

/** Several drawings in a row, as one SVG with a background. */
function compose(drawings) {
  const gap = 16;
  let x = gap;
  let tallest = 0;
  const whole = makeSvg("svg", { xmlns: "http://www.w3.org/2000/svg" });
  const background = makeSvg("rect", { width: "100%", height: "100%", fill: color("--paper") });
  whole.append(background);
  for (const drawing of drawings) {
    const box = drawing.getBoundingClientRect();
    const copy = standalone(drawing);
    for (const [name, value] of Object.entries({ x, y: gap, width: box.width, height: box.height, overflow: "hidden" })) copy.setAttribute(name, value);
    whole.append(copy);
    x += box.width + gap;
    tallest = Math.max(tallest, box.height);
  }
  whole.setAttribute("width", x);
  whole.setAttribute("height", tallest + 2 * gap);
  whole.setAttribute("viewBox", `0 0 ${x} ${tallest + 2 * gap}`);
  return whole;
}

/** The text of an SVG file of drawings. */
export function svgText(drawings) {
  return new XMLSerializer().serializeToString(compose(drawings));
}

function saveSvg(drawings, name) {
  save(new Blob([svgText(drawings)], { type: "image/svg+xml" }), `${name}.svg`);
}

function savePng(drawings, name) {
  const scale = 3;
  const url = URL.createObjectURL(new Blob([svgText(drawings)], { type: "image/svg+xml" }));
  const image = new Image();
  image.onload = () => {
    const canvas = make("canvas", { width: scale * image.width, height: scale * image.height });
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    context.drawImage(image, 0, 0);
    URL.revokeObjectURL(url);
    saveCanvas(canvas, name);
  };
  image.src = url;
}

/** Saves a canvas. */
export function saveCanvas(canvas, name) {
  canvas.toBlob((blob) => save(blob, `${name}.png`), "image/png");
}

/** Buttons that save a drawing, or several in a row. */
export function downloadTools(getDrawings, name) {
  const drawings = () => [getDrawings()].flat();
  const nameNow = () => `shapelex-${typeof name === "function" ? name() : name}`.replace(/[^\w.-]+/g, "_").slice(0, 80);
  const button = (text, act) =>
    make("button", { type: "button", class: "quiet small", text, "aria-label": `Save this view as ${text}`, onclick: () => act(drawings(), nameNow()) });
  return make("span", { class: "downloads" }, button("SVG", saveSvg), button("PNG", savePng));
}

function quote(text) {
  // A spreadsheet would run a text that begins like a formula.
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The codes of all shapes of the page, as the table that `shapelex encode` writes: the largest weight first, angles in radians. */
export function codesText() {
  const hasFrames = seriesOf && page.times.has_frames;
  const head = ["id"];
  if (labelNames) head.push("label");
  if (seriesOf) head.push("sequence");
  if (hasFrames) head.push("frame");
  head.push("error", "n_used", "n_atoms");
  for (let l = 1; l <= nNonzero; l++) head.push(`atom_${l}`, `modulus_${l}`, `angle_${l}`);
  const lines = [head.join(",")];
  // Nine digits are all that single precision has.
  const written = (number) => String(Number(number.toPrecision(9)));
  for (let k = 0; k < nShapes; k++) {
    const row = [quote(nameOf(k))];
    if (labelNames) row.push(quote(labelNames[labelOf[k]]));
    if (seriesOf) row.push(quote(page.times.names[seriesOf[k]] ?? ""));
    if (hasFrames) row.push(frameOf[k]);
    const terms = codeOf(k, nNonzero)
      .map((term) => ({ atom: term.atom, modulus: Math.hypot(term.re, term.im), angle: Math.atan2(term.im, term.re) }))
      .sort((a, b) => b.modulus - a.modulus);
    row.push(written(errorOf(k)), terms.length, atoms.length);
    for (let l = 0; l < nNonzero; l++) {
      const term = terms[l];
      if (term) row.push(term.atom, written(term.modulus), written(term.angle));
      else row.push("", "", "");
    }
    lines.push(row.join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

/** A button that saves the codes. */
export function codesButton() {
  const text = nShapes < page.n_shapes ? `Codes of these ${count(nShapes)} shapes (CSV)` : "Codes (CSV)";
  return make("button", {
    type: "button",
    class: "quiet",
    id: "save-codes",
    text,
    onclick: () => save(new Blob([codesText()], { type: "text/csv" }), "shapelex-codes.csv"),
  });
}
