// The list of excluded shapes, as `shapelex import --exclude` and `shapelex learn --exclude` take it.
import { columns } from "./data.js";
import { entryCell, rowText, saveText } from "./codes_table.js";
import { isExcluded, shapesWhere } from "./subset.js";

/** The list as CSV: id, and the file where the set has it. */
export function exclusionText() {
  const named = columns.filter((column) => column.name === "id" || column.name === "file");
  const lines = [rowText(named.map((column) => column.name))];
  for (const k of shapesWhere(isExcluded)) lines.push(rowText(named.map((column) => entryCell(column, k))));
  return `${lines.join("\n")}\n`;
}

/** Saves the list. */
export function saveExclusion() {
  saveText(exclusionText(), "shapelex-excluded.csv");
}
