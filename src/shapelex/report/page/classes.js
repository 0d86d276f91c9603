// What a classifier took the shapes for while they were held out: the confusion matrix, and the shapes behind a number.
import { makeShapeButton } from "./atoms.js";
import { classOf, page } from "./data.js";
import { byId, count, make, makeScroll, percent } from "./dom.js";
import { on } from "./store.js";
import { isCounted, shapesWhere } from "./subset.js";

const N_LISTED = 24;
const { tested } = page;

/** Chosen cell of the matrix; null for all misclassified shapes. */
let chosen = null;
let nListed = N_LISTED;

/** The shapes of this page that a cell counts, or all that are misclassified. */
function listShapes() {
  const isWanted = (k) =>
    chosen ? classOf.true[k] === chosen.row && classOf.predicted[k] === chosen.column : classOf.true[k] >= 0 && classOf.true[k] !== classOf.predicted[k];
  return shapesWhere((k) => isCounted(k) && isWanted(k));
}

function choose(row, column) {
  chosen = chosen && chosen.row === row && chosen.column === column ? null : { row, column };
  nListed = N_LISTED;
  for (const button of byId("confusion").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(chosen !== null && button.dataset.cell === `${row},${column}`));
  }
  drawList();
}

function makeCell(row, column, value, total) {
  if (!value) return make("td", { class: "none", text: "·" });
  const words = `${count(value)} of class ${tested.names[row]}, predicted ${tested.names[column]}`;
  const button = make("button", { type: "button", text: String(value), "data-cell": `${row},${column}`, "aria-pressed": "false", "aria-label": words, title: words, onclick: () => choose(row, column) });
  const cell = make("td", { class: row === column ? "heat" : "heat wrong" }, button);
  cell.style.setProperty("--share", value / total);
  return cell;
}

function drawMatrix() {
  const head = make(
    "tr",
    {},
    make("th", { scope: "col", text: "class" }),
    make("th", { scope: "col", text: "right", title: "share of the shapes of the class that were given it" }),
    ...tested.names.map((name) => make("th", { scope: "col", title: `predicted ${name}`, "aria-label": `predicted ${name}` }, make("span", { text: name }))),
  );
  const rows = tested.counts.map((values, row) => {
    const total = values.reduce((sum, value) => sum + value, 0);
    return make(
      "tr",
      {},
      make("th", { scope: "row", text: tested.names[row], title: `${tested.names[row]}: ${count(total)} shapes` }),
      make("td", { class: "number", text: total ? percent(values[row] / total) : "" }),
      ...values.map((value, column) => makeCell(row, column, value, total)),
    );
  });
  byId("confusion").replaceChildren(
    make("p", { class: "hint", text: "Rows: the class of a shape. Columns: the class that it was given. Choose a number to see its shapes." }),
    makeScroll("Confusion matrix", make("table", { class: "heat-table confusion" }, make("thead", {}, head), make("tbody", {}, ...rows))),
  );
}

function drawList() {
  const shapes = listShapes();
  const { names } = tested;
  byId("confused-title").textContent = chosen ? `Class ${names[chosen.row]}, predicted ${names[chosen.column]}` : "Misclassified shapes";
  const back = make("button", { type: "button", class: "quiet small", text: "all misclassified", onclick: () => choose(chosen.row, chosen.column) });
  byId("confused-tools").replaceChildren(...(chosen ? [back] : []));
  const buttons = shapes.slice(0, nListed).map((k) => makeShapeButton(k, `${names[classOf.true[k]]} → ${names[classOf.predicted[k]]}`));
  const more = make("button", {
    type: "button",
    class: "quiet",
    text: `Show ${count(Math.min(N_LISTED, shapes.length - nListed))} more`,
    onclick: () => {
      nListed += N_LISTED;
      drawList();
    },
  });
  const words = shapes.length ? `${count(shapes.length)} ${shapes.length === 1 ? "shape" : "shapes"} of this page, each with its class and the predicted one.` : "No shape that is shown is here.";
  byId("confused").replaceChildren(make("p", { class: "hint", text: words }), make("div", { class: "strip" }, ...buttons), ...(shapes.length > nListed ? [more] : []));
}

/** The confusion matrix and the shapes that are listed, as numbers; null where nothing was tested. */
export function confusion() {
  return tested ? { names: tested.names, counts: tested.counts, accuracy: tested.accuracy, shapes: listShapes() } : null;
}

/** Makes the section, where there was a test. */
export function startClasses() {
  if (!tested) return;
  byId("classes-section").hidden = false;
  const nWrong = Math.round(tested.n_tested * (1 - tested.accuracy));
  byId("classes-hint").textContent =
    `A classifier was tested on ${count(tested.n_tested)} shapes that it had not learned from: ${percent(tested.accuracy)} were given their class, ${count(nWrong)} another one.${tested.remarks.map((remark) => ` ${remark}`).join("")}`;
  drawMatrix();
  on(["subset"], drawList);
}
