// The table of the shapes that are shown.
import { columns, entryOf, entryText, errorOf, nameOf } from "./data.js";
import { byId, count, make, makeScroll, percent } from "./dom.js";
import { on, selectShape, state } from "./store.js";
import { isExcluded, isShown, setExcluded, shapesWhere } from "./subset.js";

const N_ROWS = 20;

const fields = [
  { name: "excluded", value: (k) => Number(isExcluded(k)), cell: excludeCell },
  ...columns.map((column) => ({
    name: column.name,
    value: (k) => entryOf(column, k),
    cell: (k) => (column.kind === "id" ? nameCell(k) : textCell(entryText(column, k), column.kind === "number")),
  })),
  { name: "error", value: (k) => errorOf(k), cell: (k) => textCell(percent(errorOf(k)), true) },
];
let rows = [];
let first = 0;
let sorted = { field: fields[fields.length - 1], isDown: true };
let head, body, words, back, forth;

function textCell(text, isNumber) {
  return make("td", { class: isNumber ? "number" : null, text, title: text });
}

function excludeCell(k) {
  const box = make("input", { type: "checkbox", checked: isExcluded(k), "aria-label": `Exclude shape ${nameOf(k)}`, onchange: () => setExcluded([k], box.checked) });
  return make("td", {}, box);
}

function nameCell(k) {
  return make("th", { scope: "row" }, make("button", { type: "button", class: "link", text: nameOf(k), title: nameOf(k), onclick: () => selectShape(k) }));
}

/** Numbers in their order, missing ones last; texts as people sort them. */
function compare(a, b) {
  if (typeof a === "string") return collator.compare(a, b);
  return Number(Number.isNaN(a)) - Number(Number.isNaN(b)) || a - b;
}

const collator = new Intl.Collator("en", { numeric: true });

function sortRows() {
  const { field, isDown } = sorted;
  const values = new Map(rows.map((k) => [k, field.value(k)]));
  const sign = isDown ? -1 : 1;
  rows.sort((i, j) => sign * compare(values.get(i), values.get(j)) || i - j);
}

function drawHead() {
  head.replaceChildren(
    ...fields.map((field) => {
      const isSorted = field === sorted.field;
      const sort = () => {
        sorted = { field, isDown: isSorted ? !sorted.isDown : field.name === "error" || field.name === "excluded" };
        first = 0;
        update();
        head.children[fields.indexOf(field)].firstChild.focus();
      };
      const arrow = isSorted ? (sorted.isDown ? " \u2193" : " \u2191") : "";
      return make(
        "th",
        { scope: "col", "aria-sort": isSorted ? (sorted.isDown ? "descending" : "ascending") : "none" },
        make("button", { type: "button", class: "link", text: `${field.name}${arrow}`, title: `Sort by ${field.name}`, onclick: sort }),
      );
    }),
  );
}

function drawRows() {
  first = Math.max(0, Math.min(first, N_ROWS * Math.floor((rows.length - 1) / N_ROWS)));
  body.replaceChildren(
    ...rows.slice(first, first + N_ROWS).map((k) => make("tr", { "data-shape": k, "aria-current": k === state.selected ? "true" : null }, ...fields.map((field) => field.cell(k)))),
  );
  words.textContent = rows.length ? `${count(first + 1)} to ${count(Math.min(first + N_ROWS, rows.length))} of ${count(rows.length)}` : "no shape";
  back.disabled = first === 0;
  forth.disabled = first + N_ROWS >= rows.length;
}

function update() {
  rows = shapesWhere(isShown);
  sortRows();
  drawHead();
  drawRows();
}

/** Makes the table. */
export function startTable() {
  head = make("tr", {});
  body = make("tbody", {});
  words = make("span", { class: "note" });
  const turn = (by) => () => ((first += by * N_ROWS), drawRows());
  back = make("button", { type: "button", class: "quiet square", "aria-label": "Previous rows", text: "\u2190", onclick: turn(-1) });
  forth = make("button", { type: "button", class: "quiet square", "aria-label": "Next rows", text: "\u2192", onclick: turn(1) });
  byId("table").append(
    makeScroll("Table of the shapes", make("table", { class: "shape-table" }, make("thead", {}, head), body)),
  );
  byId("table-tools").append(words, back, forth);
  on(["subset"], update);
  on(["selected"], drawRows);
}
