// Shapes in a grid, as a drawing for a file.
import { atomOrder, page } from "./data.js";
import { makeSvg, share } from "./dom.js";
import { makePath, posedAtom, viewBoxOf } from "./drawing.js";
import { color, fontFamily } from "./theme.js";

const CELL = 110;
const SHAPE = 80;
const LINE = 14;
const COLUMNS = 8;

/** Drawings with a title and a note under each. */
export function makeGrid(items) {
  const nColumns = Math.max(1, Math.min(COLUMNS, items.length));
  const high = SHAPE + 2 * LINE + 12;
  const [width, height] = [nColumns * CELL, Math.ceil(items.length / nColumns) * high];
  const whole = makeSvg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": fontFamily(), "font-size": 11 });
  items.forEach(({ points, title, note }, i) => {
    const [x, y] = [(i % nColumns) * CELL, Math.floor(i / nColumns) * high];
    const path = makePath(points, {
      fill: page.closed && page.joined ? color("--fill") : "none",
      stroke: color("--ink"),
      "stroke-width": page.joined ? 1.4 : 3.2,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
      "vector-effect": "non-scaling-stroke",
    });
    whole.append(
      makeSvg("svg", { x: x + (CELL - SHAPE) / 2, y, width: SHAPE, height: SHAPE, viewBox: viewBoxOf([points]) }, path),
      makeSvg("text", { x: x + CELL / 2, y: y + SHAPE + LINE, "text-anchor": "middle", fill: color("--ink"), text: title }),
      makeSvg("text", { x: x + CELL / 2, y: y + SHAPE + 2 * LINE, "text-anchor": "middle", fill: color("--soft"), text: note }),
    );
  });
  return whole;
}

/** The atoms, most used first. */
export function atomsDrawing() {
  return makeGrid(atomOrder.map((atom) => ({ points: posedAtom(atom), title: `atom ${atom}`, note: `used by ${share(page.atoms.use[atom])}` })));
}
