// Columns whose entries are groups of shapes.
import { columns, entryOf, nShapes, page } from "./data.js";

const made = new Map();

/** The entries of a column as groups: names, counts on this page, and the group of each shape. */
export function categoriesOf(column) {
  if (made.has(column)) return made.get(column);
  const counts = new Map();
  const texts = Array.from({ length: nShapes }, (_, k) => String(entryOf(column, k)));
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  const names = Array.from(counts.keys());
  // Numbers in their order; texts by frequency, as they come; the empty one last.
  if (column.kind === "number") names.sort((a, b) => Number(a) - Number(b));
  else names.sort((a, b) => Number(a === "") - Number(b === "") || counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
  const places = new Map(names.map((name, place) => [name, place]));
  const categories = { names, counts: names.map((name) => counts.get(name)), numbers: Int32Array.from(texts, (text) => places.get(text)) };
  made.set(column, categories);
  return categories;
}

/** Whether the entries of a column are groups: any text, and whole numbers where they are few and repeat. */
export function isCategorical(column) {
  return column.kind === "text" || page.groups.some((group) => group.column === column.name);
}

/** Words for a group. */
export function groupText(name) {
  return name || "none";
}

/** The column of this name. */
export function columnNamed(name) {
  return columns.find((column) => column.name === name);
}
