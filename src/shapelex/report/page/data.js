// The data of the page: unpacked once, never changed.

const TYPES = { int16: Int16Array, int32: Int32Array, float32: Float32Array, float64: Float64Array };

function unpack(packed) {
  const binary = atob(packed.base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new TYPES[packed.dtype](bytes.buffer);
}

export const page = JSON.parse(document.getElementById("shapelex-data").textContent);

const n = page.space.n_coordinates;

/** Sizes that everything else counts by. */
export const nCoordinates = n;
export const nAtoms = page.atoms.use.length;
export const nShapes = page.shapes.ids.length;
export const nNonzero = page.n_nonzero;

/** The basis at the parameters of drawing (rows) and the Gram matrix; null for landmarks. Complex ones are interleaved. */
export const basis = page.space.basis && {
  values: unpack(page.space.basis),
  nRows: page.space.basis.shape[0],
  isComplex: page.space.basis.shape.length === 3,
};
export const gram = page.space.gram && {
  values: unpack(page.space.gram),
  isComplex: page.space.gram.shape.length === 3,
};

const atomValues = unpack(page.atoms.configurations);
export const atoms = Array.from({ length: nAtoms }, (_, j) => atomValues.subarray(2 * n * j, 2 * n * (j + 1)));
export const atomPoses = unpack(page.atoms.poses);
/** Atoms from the most to the least used. */
export const atomOrder = page.atoms.use.map((_, j) => j).sort((i, j) => page.atoms.use[j] - page.atoms.use[i] || i - j);

const integers = unpack(page.shapes.configurations);
const steps = unpack(page.shapes.steps);
export const shapePoses = unpack(page.shapes.poses);
export const places = unpack(page.map.places);

const supports = page.shapes.supports.map(unpack);
const weights = page.shapes.weights.map(unpack);
const levelErrors = page.shapes.errors.map(unpack);

/** Columns of the table of shapes: `numbers` are places in `names`, `values` are numbers, NaN where there is none. */
export const columns = page.columns.map(({ name, kind, names, numbers, values, integer }) => ({
  name,
  kind,
  names,
  numbers: numbers && unpack(numbers),
  values: values && unpack(values),
  isInteger: Boolean(integer),
}));
const labelColumn = page.groups.some((group) => group.column === "label") ? columns.find((column) => column.name === "label") : null;
export const seriesOf = page.times ? unpack(page.times.of_shape) : null;
export const frameOf = page.times ? unpack(page.times.frame) : null;
export const timeWeights = page.times ? unpack(page.times.weights) : null;

/** Numbers of the class of each shape and of the one that a classifier gave it, -1 where it was not tested. */
export const classOf = page.tested ? { true: unpack(page.tested.true), predicted: unpack(page.tested.predicted) } : null;

// The text has been read: let the browser forget it.
document.getElementById("shapelex-data").textContent = "";
for (const packed of [page.shapes.configurations, ...page.shapes.weights, ...page.shapes.supports, ...page.columns.flatMap(({ numbers, values }) => numbers ?? values ?? [])]) packed.base64 = "";

/** The pre-shape of shape k, real and imaginary parts interleaved. */
export function configuration(k, z = new Float64Array(2 * n)) {
  const start = 2 * n * k;
  for (let i = 0; i < 2 * n; i++) z[i] = integers[start + i] * steps[k];
  return z;
}

/** The atoms of shape k and their weights, with at most so many atoms, the largest weight first. */
export function codeOf(k, sparsity) {
  const support = supports[sparsity - 1];
  const values = weights[sparsity - 1];
  const terms = [];
  for (let l = 0; l < sparsity; l++) {
    const at = sparsity * k + l;
    if (support[at] >= 0) terms.push({ atom: support[at], re: values[2 * at], im: values[2 * at + 1] });
  }
  return terms.sort((a, b) => Math.hypot(b.re, b.im) - Math.hypot(a.re, a.im));
}

/** Error of shape k with at most so many atoms, as Python computed it. */
export function errorOf(k, sparsity = nNonzero) {
  return levelErrors[sparsity - 1][k];
}

/** What to call shape k. */
export function nameOf(k) {
  return page.shapes.ids[k];
}

/** The entry of a column for shape k: a number, or a text. */
export function entryOf(column, k) {
  if (column.kind === "id") return nameOf(k);
  return column.kind === "text" ? column.names[column.numbers[k]] : column.values[k];
}

/** The entry of a column for shape k, in words; empty where it is missing. */
export function entryText(column, k) {
  const entry = entryOf(column, k);
  if (typeof entry === "string") return entry;
  return Number.isNaN(entry) ? "" : String(Number(entry.toPrecision(6)));
}

/** The label of shape k, in words; empty where there are no labels. */
export function labelText(k) {
  return labelColumn ? String(entryOf(labelColumn, k)) || "no label" : "";
}

/** Shapes from the largest to the smallest error. */
export const worstFirst = Array.from({ length: nShapes }, (_, k) => k).sort((i, j) => errorOf(j) - errorOf(i) || i - j);
