// Tables as CSV, with the same cells as those that Python writes.
import { atoms, codeOf, columns, entryOf, errorOf, nNonzero, nShapes, page } from "./data.js";
import { count, make } from "./dom.js";
import { save } from "./download.js";

/** A row of CSV. */
export function rowText(cells) {
  return cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",");
}

/** A number as Python writes it. */
function pythonFloat(value) {
  if (Number.isNaN(value)) return "";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return Number.isInteger(value) ? `${Object.is(value, -0) ? "-0" : value}.0` : String(value);
}

/** A number of single precision, whose digits are nine, as Python writes it. */
export function writtenNumber(number) {
  return pythonFloat(Number(number.toPrecision(9)));
}

/** The cell of a column for shape k. */
export function entryCell(column, k) {
  const entry = entryOf(column, k);
  if (typeof entry === "string") return entry;
  return column.isInteger ? String(entry) : pythonFloat(entry);
}

/** A cell with an apostrophe before text that a spreadsheet would take for a formula, which reading takes away. */
function withoutFormula(cell) {
  return /^'*(\s*[=+@-]|[\t\r\n])/.test(cell) ? `'${cell}` : cell;
}

/** The cell of a column for shape k in a table of codes. */
function codesCell(column, k) {
  return typeof entryOf(column, k) === "string" ? withoutFormula(entryCell(column, k)) : entryCell(column, k);
}

/** The codes of all shapes of the page, as the table that `shapelex encode` writes: the largest weight first, angles in radians. */
export function codesText() {
  const head = [...columns.map((column) => withoutFormula(column.name)), "error", "n_used", "n_atoms"];
  for (let l = 1; l <= nNonzero; l++) head.push(`atom_${l}`, `modulus_${l}`, `angle_${l}`);
  const lines = [rowText(head)];
  for (let k = 0; k < nShapes; k++) {
    const row = columns.map((column) => codesCell(column, k));
    const terms = codeOf(k, nNonzero);
    row.push(writtenNumber(errorOf(k)), String(terms.length), String(atoms.length));
    for (let l = 0; l < nNonzero; l++) {
      const term = terms[l];
      if (term) row.push(String(term.atom), writtenNumber(Math.hypot(term.re, term.im)), writtenNumber(Math.atan2(term.im, term.re)));
      else row.push("", "", "");
    }
    lines.push(rowText(row));
  }
  return `${lines.join("\n")}\n`;
}

/** Saves a table. */
export function saveText(text, name) {
  save(new Blob([text], { type: "text/csv" }), name);
}

/** A button that saves the codes. */
export function codesButton() {
  const text = nShapes < page.n_shapes ? `Codes of these ${count(nShapes)} shapes (CSV)` : "Codes (CSV)";
  return make("button", { type: "button", class: "quiet", id: "save-codes", text, onclick: () => saveText(codesText(), "shapelex-codes.csv") });
}
