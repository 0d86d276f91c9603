// Elements and texts. Text is only ever set as text: names and labels are data.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" && "value" in element) element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/**
 * An HTML element with attributes (`text` is its text, `on…` a listener) and children.
 * @returns {any}
 */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * An SVG element.
 * @returns {any}
 */
export function makeSvg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * The element of the page with this id.
 * @returns {any}
 */
export function byId(id) {
  return document.getElementById(id);
}

/** Says something to a screen reader. */
export function announce(text) {
  byId("announce").textContent = text;
}

/** A number in percent, with as many digits as it needs. */
export function percent(value) {
  const hundred = 100 * value;
  return `${hundred.toFixed(hundred >= 9.95 ? 1 : 2)}\u202f%`;
}

/** A share in percent, without digits. */
export function share(value) {
  return value > 0 && value < 0.005 ? "<\u202f1\u202f%" : `${Math.round(100 * value)}\u202f%`;
}

/** A count with separators. */
export function count(value) {
  return value.toLocaleString("en-US");
}

/** A number of a column, with at most four digits. */
export function number(value) {
  return String(Number(value.toPrecision(4))).replace("-", "\u2212");
}

/** An angle in whole degrees, with a true minus. */
export function degrees(radians) {
  const whole = Math.round((radians * 180) / Math.PI);
  return `${whole < 0 ? "\u2212" : ""}${Math.abs(whole)}°`;
}

/** A table that scrolls in its own frame, with a shadow at each side where more of it lies. */
export function makeScroll(label, table) {
  const area = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, table);
  const frame = make("div", { class: "scroll-frame" }, area);
  const look = () => {
    const hidden = area.scrollWidth - area.clientWidth;
    frame.toggleAttribute("data-left", area.scrollLeft > 1);
    frame.toggleAttribute("data-right", area.scrollLeft < hidden - 1);
  };
  area.addEventListener("scroll", look, { passive: true });
  const observer = new ResizeObserver(look);
  observer.observe(area);
  observer.observe(table);
  return frame;
}

const MOST_LETTERS = 32;

/** A name without its middle where it is long: names of one set often differ at the end alone. */
export function shortened(name) {
  if (name.length <= MOST_LETTERS) return name;
  const half = MOST_LETTERS / 2;
  return `${name.slice(0, half - 1)}\u2026${name.slice(-half)}`;
}

/** A list of choices. */
export function makeSelect(label, options, value, choose) {
  const select = make(
    "select",
    { "aria-label": label, onchange: (event) => choose(event.target.value) },
    ...options.map(([key, text]) => make("option", { value: key, text })),
  );
  select.value = value;
  // What is chosen may be longer than the list is wide.
  select.addEventListener("pointerenter", () => (select.title = select.selectedOptions[0]?.text ?? ""));
  return select;
}
