// Time series: which shapes they have, when, and with which weights.
import { errorOf, frameOf, nameOf, nAtoms, nNonzero, nShapes, page, seriesOf, timeCodes } from "./data.js";
import { rowText, writtenNumber } from "./codes_table.js";
import { unitNumber } from "./complex.js";

/** The shapes of each series in the order of time. */
export const members = page.times ? page.times.names.map((_, series) => rowsOf(series)) : [];

function rowsOf(series) {
  const rows = [];
  for (let k = 0; k < nShapes; k++) if (seriesOf[k] === series) rows.push(k);
  return rows.sort((i, j) => frameOf[i] - frameOf[j]);
}

/** The longest series, to begin with. */
export function longestSeries() {
  return members.reduce((best, rows, series) => (rows.length > members[best].length ? series : best), 0);
}

/** Frames per second of a series, or nothing. */
export function rateOf(series) {
  return page.times.rates[series] ?? null;
}

// Units of time, each for series that last at least so many of it.
const UNITS = [
  { unit: "d", length: 86400, least: 4 },
  { unit: "h", length: 3600, least: 2 },
  { unit: "min", length: 60, least: 10 },
  { unit: "s", length: 1, least: 0 },
];

/** How the frames of a series become times on its axis: a factor, a name, and a text for one of them. */
export function clockOf(series) {
  const rate = rateOf(series);
  const rows = members[series];
  if (rate === null) {
    const name = { frame: "frame", time: "time", number: "number in time" }[page.times.unit];
    return { factor: 1, name, text: (frame) => `${page.times.unit} ${Number(frame.toPrecision(6))}` };
  }
  const seconds = (frameOf[rows.at(-1)] - frameOf[rows[0]]) / rate;
  const { unit, length } = UNITS.find((one) => seconds >= one.least * one.length);
  const factor = 1 / (rate * length);
  return { factor, name: `time (${unit})`, text: (frame) => `${(frame * factor).toFixed(2)} ${unit}` };
}

/** The usual number of frames from one shape of a series to the next. */
export function stepOf(series) {
  const rows = members[series];
  const steps = rows.slice(1).map((k, i) => frameOf[k] - frameOf[rows[i]]);
  return steps.length ? steps.sort((a, b) => a - b)[Math.floor((steps.length - 1) / 2)] || 1 : 1;
}

/** The atoms of shape k along time, and their weights in the tracked pose. */
export function termsAt(k) {
  const terms = [];
  for (let l = 0; l < nNonzero; l++) {
    const at = nNonzero * k + l;
    const atom = timeCodes.supports[at];
    if (atom >= 0) terms.push({ atom, re: timeCodes.weights[2 * at], im: timeCodes.weights[2 * at + 1] });
  }
  return terms;
}

/** Error of shape k with these weights. */
export function errorAt(k) {
  return timeCodes ? timeCodes.errors[k] : errorOf(k);
}

/** The rotation of shape k into the tracked pose, in which its series lies flat, as [re, im]. */
export function trackedTurn(k) {
  return unitNumber(page.times.turns[seriesOf[k]] - timeCodes.rotations[k]);
}

/** The rotation that lays the tracked weights of a series flat, as [re, im]. */
export function flatTurn(series) {
  return unitNumber(page.times.turns[series]);
}

/** Atoms that a series uses, those with the largest weights first. */
export function atomsOf(series) {
  const power = new Float64Array(nAtoms);
  for (const k of members[series]) for (const { atom, re, im } of termsAt(k)) power[atom] += re * re + im * im;
  return Array.from(power.keys())
    .filter((atom) => power[atom] > 0)
    .sort((i, j) => power[j] - power[i] || i - j);
}

/** The modulus that the scale of a series has to reach: the largest one, or the 99th percentile where a few are far above it. */
export function usualWeight(series) {
  const moduli = members[series].flatMap((k) => termsAt(k).map(({ re, im }) => Math.hypot(re, im)));
  moduli.sort((a, b) => a - b);
  const [most, usual] = [moduli.at(-1) ?? 1, moduli[Math.floor(0.99 * (moduli.length - 1))] ?? 1];
  return Math.max(1e-9, most > 1.5 * usual ? usual : most);
}

/** A series as CSV: moduli, and phases in radians that go on from frame to frame as long as an atom is used. */
export function seriesText(series) {
  const rate = rateOf(series);
  const head = ["id", "sequence", "frame", ...(rate === null ? [] : ["time"]), "error"];
  for (let atom = 0; atom < nAtoms; atom++) head.push(`modulus_a${atom}`, `phase_a${atom}`);
  const lines = [rowText(head)];
  const last = new Float64Array(nAtoms).fill(NaN);
  for (const k of members[series]) {
    const row = [nameOf(k), page.times.names[series], writtenNumber(frameOf[k]).replace(/\.0$/, "")];
    if (rate !== null) row.push(writtenNumber(frameOf[k] / rate));
    row.push(writtenNumber(errorAt(k)));
    const cells = new Array(2 * nAtoms).fill("");
    const before = Float64Array.from(last);
    last.fill(NaN);
    for (const { atom, re, im } of termsAt(k)) {
      let phase = Math.atan2(im, re);
      if (!Number.isNaN(before[atom])) phase += 2 * Math.PI * Math.round((before[atom] - phase) / (2 * Math.PI));
      last[atom] = phase;
      cells[2 * atom] = writtenNumber(Math.hypot(re, im));
      cells[2 * atom + 1] = writtenNumber(phase);
    }
    lines.push(rowText([...row, ...cells]));
  }
  return `${lines.join("\n")}\n`;
}
