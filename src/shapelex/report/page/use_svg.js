// The table of the use of the atoms, as a drawing for a file.
import { atomOrder } from "./data.js";
import { count, makeSvg, percent } from "./dom.js";
import { color, fontFamily, mixed, textWidth } from "./theme.js";

const ROW = 20;
const COLUMN = 30;
const GAP = 12;

/** The table: names, counts and errors of the groups, and a cell for each atom. */
export function makeUseTable({ title, names, counts, rmse, use }) {
  const texts = [[title, ...names], ["shapes", ...counts.map(count)], ["error", ...rmse.map((value, i) => (counts[i] ? percent(value) : ""))]];
  const widths = texts.map((column) => Math.max(...column.map((text) => textWidth(text, 12))) + GAP);
  const left = widths.reduce((a, b) => a + b);
  const [width, height] = [left + COLUMN * atomOrder.length, ROW * (names.length + 1)];
  const whole = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": fontFamily(), "font-size": 12 });
  const write = (x, row, text, anchor, fill) => whole.append(makeSvg("text", { x, y: row * ROW + 14, "text-anchor": anchor, fill, text }));
  let x = 0;
  texts.forEach((column, place) => {
    column.forEach((text, row) => {
      if (place === 0) write(x, row, text, "start", color(row ? "--ink" : "--soft"));
      else write(x + widths[place] - GAP, row, text, "end", color("--soft"));
    });
    x += widths[place];
  });
  atomOrder.forEach((atom, place) => {
    const middle = left + (place + 0.5) * COLUMN;
    write(middle, 0, String(atom), "middle", color("--soft"));
    use.forEach((row, i) => {
      const value = row[atom];
      whole.append(makeSvg("rect", { x: left + place * COLUMN, y: (i + 1) * ROW, width: COLUMN, height: ROW, fill: mixed("--paper", "--accent", 0.45 * value) }));
      write(middle, i + 1, value ? String(Math.round(100 * value)) : "·", "middle", color("--ink"));
    });
  });
  return whole;
}
