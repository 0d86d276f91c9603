// Mean shapes.
import { configuration, nCoordinates, shapePoses } from "./data.js";
import { addScaled, applyGram, norm, plainInner, scaled } from "./complex.js";

const TOLERANCE = 1e-5;
const MOST_STEPS = 100;

/**
 * The full Procrustes mean of shapes, in the common pose, as Python's `mean_shape`: the leading eigenvector of the sum of
 * z z* Phi, by power iteration from the sum of the shapes in the common pose.
 */
export function meanShape(shapes) {
  const z = new Float64Array(2 * nCoordinates);
  let mean = new Float64Array(2 * nCoordinates);
  for (const k of shapes) addScaled(mean, shapePoses[2 * k], shapePoses[2 * k + 1], configuration(k, z));
  const first = applyGram(mean);
  mean = normalized(mean);
  for (let step = 0; step < MOST_STEPS; step++) {
    const weighted = applyGram(mean);
    const next = new Float64Array(2 * nCoordinates);
    for (const k of shapes) addScaled(next, ...plainInner(configuration(k, z), weighted), z);
    const unit = normalized(next);
    const change = norm(addScaled(scaled(-1, 0, mean), 1, 0, unit));
    mean = unit;
    if (change < TOLERANCE) break;
  }
  const [re, im] = plainInner(mean, first);
  const length = Math.hypot(re, im);
  return length > 0 ? scaled(re / length, im / length, mean) : mean;
}

function normalized(z) {
  const length = norm(z);
  return length > 0 ? scaled(1 / length, 0, z) : z;
}
