// Complex vectors: real and imaginary parts interleaved in one Float64Array.
import { basis, gram, nCoordinates, page } from "./data.js";

/** Adds (re + i im) v to out. */
export function addScaled(out, re, im, v) {
  for (let i = 0; i < v.length; i += 2) {
    out[i] += re * v[i] - im * v[i + 1];
    out[i + 1] += re * v[i + 1] + im * v[i];
  }
  return out;
}

/** (re + i im) v. */
export function scaled(re, im, v) {
  return addScaled(new Float64Array(v.length), re, im, v);
}

/** The product of two complex numbers, as [re, im]. */
export function times(aRe, aIm, bRe, bIm) {
  return [aRe * bRe - aIm * bIm, aRe * bIm + aIm * bRe];
}

/** The Hermitian product z* Phi w of the space, as [re, im]. */
export function inner(z, w) {
  return plainInner(z, applyGram(w));
}

/** The product z* v without the Gram matrix, as [re, im]. */
export function plainInner(z, v) {
  let re = 0;
  let im = 0;
  for (let i = 0; i < z.length; i += 2) {
    re += z[i] * v[i] + z[i + 1] * v[i + 1];
    im += z[i] * v[i + 1] - z[i + 1] * v[i];
  }
  return [re, im];
}

/** The norm of the space. */
export function norm(z) {
  return Math.sqrt(Math.max(0, inner(z, z)[0]));
}

/** Phi w: the Gram matrix of the space times a vector. */
export function applyGram(w) {
  if (!gram) return w;
  const n = nCoordinates;
  const out = new Float64Array(2 * n);
  const g = gram.values;
  for (let p = 0; p < n; p++) {
    let re = 0;
    let im = 0;
    for (let q = 0; q < n; q++) {
      if (gram.isComplex) {
        const at = 2 * (n * p + q);
        re += g[at] * w[2 * q] - g[at + 1] * w[2 * q + 1];
        im += g[at] * w[2 * q + 1] + g[at + 1] * w[2 * q];
      } else {
        re += g[n * p + q] * w[2 * q];
        im += g[n * p + q] * w[2 * q + 1];
      }
    }
    out[2 * p] = re;
    out[2 * p + 1] = im;
  }
  return out;
}

/** The points to draw of a configuration: its curve, or its landmarks, the first repeated where it is closed. */
export function curveOf(z) {
  if (!basis) {
    if (!page.closed || !page.joined) return z;
    const points = new Float64Array(z.length + 2);
    points.set(z);
    points[z.length] = z[0];
    points[z.length + 1] = z[1];
    return points;
  }
  const n = nCoordinates;
  const b = basis.values;
  const points = new Float64Array(2 * basis.nRows);
  for (let p = 0; p < basis.nRows; p++) {
    let re = 0;
    let im = 0;
    for (let q = 0; q < n; q++) {
      if (basis.isComplex) {
        const at = 2 * (n * p + q);
        re += b[at] * z[2 * q] - b[at + 1] * z[2 * q + 1];
        im += b[at] * z[2 * q + 1] + b[at + 1] * z[2 * q];
      } else {
        const value = b[n * p + q];
        if (value !== 0) {
          re += value * z[2 * q];
          im += value * z[2 * q + 1];
        }
      }
    }
    points[2 * p] = re;
    points[2 * p + 1] = im;
  }
  return points;
}

/** A geodesic from z, turned along w, to w: its length, and its point at any time, as Python's `geodesic`. */
export function geodesic(z, w) {
  const zNorm = norm(z);
  const wNorm = norm(w);
  const first = scaled(1 / zNorm, 0, z);
  const second = scaled(1 / wNorm, 0, w);
  const [re, im] = inner(first, second);
  const cosine = Math.hypot(re, im);
  const residual = addScaled(Float64Array.from(second), -re, -im, first);
  const angle = Math.atan2(norm(residual), cosine);
  const start = cosine > 0 ? scaled(re / cosine, im / cosine, first) : first;
  const ratio = (t) => (angle > 1e-9 ? Math.sin(t * angle) / Math.sin(angle) : t);
  return {
    length: angle,
    at: (t) => addScaled(scaled(ratio(1 - t), 0, start), ratio(t), 0, second),
  };
}

/** The unit complex number of an angle, as [re, im]. */
export function unitNumber(angle) {
  return [Math.cos(angle), Math.sin(angle)];
}
