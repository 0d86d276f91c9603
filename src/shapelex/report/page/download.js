// Drawings as SVG and PNG: made in the page, written by the browser.
import { make, makeSvg } from "./dom.js";
import { color } from "./theme.js";

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "vector-effect", "paint-order", "display"];

/** Lets the browser write a file. */
export function save(blob, name) {
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

function sizeOf(drawing) {
  return { width: Number(drawing.getAttribute("width")), height: Number(drawing.getAttribute("height")) };
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
    // Drawings that are made for the file have their size, and need no style of the page.
    const { width, height } = drawing.isConnected ? drawing.getBoundingClientRect() : sizeOf(drawing);
    const copy = drawing.isConnected ? standalone(drawing) : drawing;
    for (const [name, value] of Object.entries({ x, y: gap, width, height, overflow: "hidden" })) copy.setAttribute(name, value);
    whole.append(copy);
    x += width + gap;
    tallest = Math.max(tallest, height);
  }
  whole.setAttribute("width", x);
  whole.setAttribute("height", tallest + 2 * gap);
  whole.setAttribute("viewBox", `0 0 ${x} ${tallest + 2 * gap}`);
  return whole;
}

/** The text of an SVG file of drawings. */
export function svgText(drawings) {
  // Names may hold control characters, which XML does not.
  return new XMLSerializer().serializeToString(compose(drawings)).replace(/[^\t\n\r\u0020-\uFFFD]/g, "\uFFFD");
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
    canvas.toBlob((blob) => save(blob, `${name}.png`), "image/png");
  };
  image.src = url;
}

/** Buttons that save a drawing, or several in a row. */
export function downloadTools(getDrawings, name) {
  const drawings = () => [getDrawings()].flat();
  const nameNow = () => `shapelex-${typeof name === "function" ? name() : name}`.replace(/[^\w.-]+/g, "_").slice(0, 80);
  const button = (text, act) =>
    make("button", { type: "button", class: "quiet small", text, "aria-label": `Save this view as ${text}`, onclick: () => act(drawings(), nameNow()) });
  return make("span", { class: "downloads" }, button("SVG", saveSvg), button("PNG", savePng));
}
