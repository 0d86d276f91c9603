// The sum of the weighted atoms of the shape on the workbench.
import { atomPoses, atoms, configuration, nCoordinates, shapePoses } from "./data.js";
import { addScaled, curveOf, norm, scaled, times } from "./complex.js";
import { on, state } from "./store.js";

let shown = -1;
let original = null;

// The sum is linear, so the curve of each atom is found once and then only scaled and turned.
const curves = new Map();

/** The curve of an atom, as it is in the model. */
export function atomCurve(atom) {
  if (!curves.has(atom)) curves.set(atom, curveOf(atoms[atom]));
  return curves.get(atom);
}

/** The pose of the shape on the workbench: a unit complex number, as [re, im]. */
export function pose() {
  return [shapePoses[2 * state.selected], shapePoses[2 * state.selected + 1]];
}

/** The pre-shape of the shape on the workbench. */
export function originalConfiguration() {
  if (shown !== state.selected) {
    shown = state.selected;
    original = configuration(shown);
  }
  return original;
}

/** The sum of the terms that are on, as a configuration. */
export function sumConfiguration() {
  const sum = new Float64Array(2 * nCoordinates);
  for (const term of state.terms) if (term.on) addScaled(sum, term.re, term.im, atoms[term.atom]);
  return sum;
}

/** The curve of one term, in the pose of the drawing. */
export function termCurve(term) {
  return scaled(...times(term.re, term.im, ...pose()), atomCurve(term.atom));
}

/** The curve of the sum, in the pose of the drawing. */
export function sumCurve() {
  const sum = new Float64Array(atomCurve(0).length);
  const turn = pose();
  for (const term of state.terms) if (term.on) addScaled(sum, ...times(term.re, term.im, ...turn), atomCurve(term.atom));
  return sum;
}

/** How far the sum is from the shape: the full distance where the weights are the best ones. */
export function sumError() {
  return norm(addScaled(sumConfiguration(), -1, 0, originalConfiguration()));
}

/** The weight of a term as an arrow: by how much its atom, as drawn among the atoms, is scaled and turned. */
export function arrowOf(term) {
  const relative = times(...pose(), atomPoses[2 * term.atom], -atomPoses[2 * term.atom + 1]);
  return times(term.re, term.im, ...relative);
}

/** The weight whose arrow this is. */
export function weightOf(atom, x, y) {
  const [re, im] = pose();
  const relative = times(re, -im, atomPoses[2 * atom], atomPoses[2 * atom + 1]);
  return times(x, y, ...relative);
}

on(["selected"], originalConfiguration);
