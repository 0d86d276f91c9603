// How much of the reconstruction of a shape an atom explains.
import { atoms, codeOf, nAtoms, nNonzero, nShapes } from "./data.js";
import { applyGram, plainInner } from "./complex.js";

let weighted = null; // Phi d of every atom
const found = new Map();

/**
 * For every shape, the squared cosine of the angle between an atom and the reconstruction of the shape: |(d, y)|² / |y|².
 * 0 where the shape does not use the atom.
 */
export function sharesOf(atom) {
  if (found.has(atom)) return found.get(atom);
  weighted ??= atoms.map(applyGram);
  // Products of the atom with all atoms; those of pairs are needed for |y|², which is found once.
  const row = products(atom);
  const norms = squaredNorms();
  const shares = new Float64Array(nShapes);
  for (let k = 0; k < nShapes; k++) {
    const terms = codeOf(k, nNonzero);
    if (!terms.some((term) => term.atom === atom)) continue;
    let re = 0;
    let im = 0;
    for (const term of terms) {
      const [gRe, gIm] = [row[2 * term.atom], row[2 * term.atom + 1]];
      re += gRe * term.re - gIm * term.im;
      im += gRe * term.im + gIm * term.re;
    }
    // Atoms have norm 1, up to rounding.
    shares[k] = norms[k] > 0 ? Math.min(1, (re * re + im * im) / norms[k]) : 0;
  }
  found.set(atom, shares);
  return shares;
}

const rows = new Map();

/** Products (d, d_j) with all atoms, interleaved. */
function products(atom) {
  if (!rows.has(atom)) {
    const row = new Float64Array(2 * nAtoms);
    for (let j = 0; j < nAtoms; j++) row.set(plainInner(atoms[atom], weighted[j]), 2 * j);
    rows.set(atom, row);
  }
  return rows.get(atom);
}

let norms = null;

/** |y|² of the reconstruction of every shape. */
function squaredNorms() {
  if (norms) return norms;
  norms = new Float64Array(nShapes);
  for (let k = 0; k < nShapes; k++) {
    const terms = codeOf(k, nNonzero);
    for (const first of terms) {
      const row = products(first.atom);
      for (const second of terms) {
        const [gRe, gIm] = [row[2 * second.atom], row[2 * second.atom + 1]];
        // Real part of conj(a_i) G_ij a_j.
        const [re, im] = [gRe * second.re - gIm * second.im, gRe * second.im + gIm * second.re];
        norms[k] += first.re * re + first.im * im;
      }
    }
  }
  return norms;
}
