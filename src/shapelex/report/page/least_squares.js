// The best weights for given atoms.
import { atoms } from "./data.js";
import { inner, times } from "./complex.js";

/** Weights of the least distance between z and the sum of these atoms: the solution of G a = c, as [re, im] pairs. */
export function bestWeights(z, chosen) {
  // Rows of the system: products of the atoms with each other, then with z.
  const rows = chosen.map((i) => [...chosen.map((j) => inner(atoms[i], atoms[j])), inner(atoms[i], z)]);
  const n = chosen.length;
  for (let p = 0; p < n; p++) {
    let pivot = p;
    for (let r = p + 1; r < n; r++) if (Math.hypot(...rows[r][p]) > Math.hypot(...rows[pivot][p])) pivot = r;
    [rows[p], rows[pivot]] = [rows[pivot], rows[p]];
    const [re, im] = rows[p][p];
    const square = re * re + im * im;
    // Atoms that depend on the others get no weight.
    const inverse = square > 1e-16 ? [re / square, -im / square] : [0, 0];
    rows[p] = rows[p].map((value) => times(...value, ...inverse));
    for (let r = 0; r < n; r++) {
      if (r === p) continue;
      const factor = rows[r][p];
      rows[r] = rows[r].map((value, c) => {
        const [dRe, dIm] = times(...factor, ...rows[p][c]);
        return [value[0] - dRe, value[1] - dIm];
      });
    }
  }
  return rows.map((row) => row[n]);
}
