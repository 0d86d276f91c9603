// The strip along time: a row for each atom, whose height is the amplitude and whose color is the phase, and the error.
import { frameOf, page } from "./data.js";
import { makeSvg } from "./dom.js";
import { ticks } from "./charts.js";
import { phaseColor } from "./phase_color.js";
import { atomsOf, clockOf, errorAt, members, stepOf, termsAt, usualWeight } from "./series.js";
import { color, fontFamily } from "./theme.js";

const ROW = 26;
const GAP = 5;
const LEFT = 58;
const RIGHT = 14;
const AXIS = 40;
const TEXT = 11;

/** A number of one leading digit that is not below another one. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((step) => step * power).find((step) => step >= 0.999 * value);
}

/** What the strip of a series shows, and where, for drawings of some width. */
export function makeStrip(series) {
  const rows = members[series];
  const atoms = atomsOf(series);
  const [clock, step] = [clockOf(series), stepOf(series)];
  const [first, last] = [frameOf[rows[0]], frameOf[rows.at(-1)] + step];
  const limit = roundUp(usualWeight(series));
  const worst = roundUp(Math.max(1e-9, ...rows.map(errorAt)));
  const names = [...atoms.map((atom) => `atom ${atom}`), "error"];
  const place = new Map(atoms.map((atom, row) => [atom, row]));
  return {
    height: names.length * (ROW + GAP) + AXIS,
    limit,
    worst,
    /** The shape nearest to a place. */
    rowAt(x, width) {
      const frame = first + ((x - LEFT) / (width - LEFT - RIGHT)) * (last - first) - step / 2;
      let best = 0;
      rows.forEach((k, i) => {
        if (Math.abs(frameOf[k] - frame) < Math.abs(frameOf[rows[best]] - frame)) best = i;
      });
      return best;
    },
    /** The middle of a frame. */
    placeOf(k, width) {
      return LEFT + ((frameOf[k] + step / 2 - first) / (last - first)) * (width - LEFT - RIGHT);
    },
    /** Draws it by a pen that fills rectangles and writes texts. */
    draw(pen, width) {
      const scale = (width - LEFT - RIGHT) / (last - first);
      const bottom = (row) => (row + 1) * (ROW + GAP) - GAP / 2;
      names.forEach((name, row) => {
        pen.text(name, LEFT - 8, bottom(row) - ROW / 2 + 1, "end", "--soft");
        pen.rectangle(LEFT, bottom(row), width - LEFT - RIGHT, 1, color("--line"));
      });
      for (const k of rows) {
        const [x, wide] = [LEFT + (frameOf[k] - first) * scale, Math.max(1, step * scale + 0.3)];
        for (const { atom, re, im } of termsAt(k)) {
          const high = Math.min(ROW, (ROW * Math.hypot(re, im)) / limit);
          pen.rectangle(x, bottom(place.get(atom)) - high, wide, high, phaseColor(Math.atan2(im, re)));
        }
        const high = (ROW * errorAt(k)) / worst;
        pen.rectangle(x, bottom(names.length - 1) - high, wide, high, color("--muted"));
      }
      const base = bottom(names.length - 1) + GAP / 2 + 1;
      pen.rectangle(LEFT, base, width - LEFT - RIGHT, 1, color("--edge"));
      const about = Math.max(2, Math.min(10, Math.floor((width - LEFT) / 75)));
      for (const value of ticks(first * clock.factor, last * clock.factor, about)) {
        const x = LEFT + (value / clock.factor - first) * scale;
        pen.rectangle(x - 0.5, base, 1, 4, color("--edge"));
        pen.text(String(value), x, base + 12, "middle", "--soft");
      }
      pen.text(clock.name, (LEFT + width - RIGHT) / 2, base + 27, "middle", "--soft");
    },
  };
}

/** A pen for a canvas. */
export function canvasPen(context) {
  context.textBaseline = "middle";
  return {
    rectangle(x, y, width, height, fill) {
      context.fillStyle = fill;
      context.fillRect(x, y, width, height);
    },
    text(text, x, y, anchor, tone) {
      context.font = `${TEXT}px ${fontFamily()}`;
      context.fillStyle = color(tone);
      context.textAlign = anchor === "middle" ? "center" : anchor;
      context.fillText(text, x, y);
    },
  };
}

/** The strip of a series as a drawing for a file. */
export function stripSvg(series, width = 900) {
  const strip = makeStrip(series);
  const [shapes, texts] = [makeSvg("g", {}), makeSvg("g", {})];
  const pen = {
    rectangle: (x, y, wide, high, fill) => shapes.append(makeSvg("rect", { x: x.toFixed(2), y: y.toFixed(2), width: wide.toFixed(2), height: high.toFixed(2), fill })),
    text: (text, x, y, anchor, tone) =>
      texts.append(makeSvg("text", { x, y, "text-anchor": anchor, "dominant-baseline": "central", "font-size": TEXT, "font-family": fontFamily(), fill: color(tone), text })),
  };
  strip.draw(pen, width);
  const name = page.times.names.length > 1 ? `series ${page.times.names[series]}, ` : "";
  pen.text(`${name}height of a row: ${strip.limit}; phase as color`, width - RIGHT, strip.height - 8, "end", "--soft");
  return makeSvg("svg", { width, height: strip.height, viewBox: `0 0 ${width} ${strip.height}` }, shapes, texts);
}
