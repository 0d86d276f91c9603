// The shape on the workbench: original under reconstruction, error, sparsity.
import { columns, entryText, frameOf, labelText, nameOf, nNonzero, nShapes, page, seriesOf } from "./data.js";
import { curveOf, scaled } from "./complex.js";
import { byId, make, makeSvg, percent } from "./dom.js";
import { hasLandmarks, makeNumbers, outline, pathOf, viewBoxOf } from "./drawing.js";
import { fittedError, loadCode, on, selectShape, state } from "./store.js";
import { originalConfiguration, pose, sumCurve, sumError, termCurve } from "./sum.js";
import { styleAsAtom } from "./theme.js";

let drawing, numbers, showNumbers, originalPath, sumPath, parts, errorText, errorNote, slider, sliderText, about, showParts;

function drawOriginal() {
  const points = curveOf(scaled(...pose(), originalConfiguration()));
  drawing.setAttribute("viewBox", viewBoxOf([points], 0.14));
  originalPath.setAttribute("d", pathOf(points));
  numbers.replaceChildren(...(showNumbers.checked ? makeNumbers(points) : []));
  const facts = [labelText(state.selected)];
  if (frameOf && seriesOf[state.selected] >= 0) facts.push(page.times.has_frames ? `frame ${frameOf[state.selected]}` : `number ${frameOf[state.selected]} in time`);
  for (const column of columns) {
    const text = ["id", "label", "frame"].includes(column.name) ? "" : entryText(column, state.selected);
    if (text) facts.push(`${column.name} ${text}`);
  }
  about.textContent = facts.filter(Boolean).join(" · ");
  byId("shape-title").textContent = `Shape ${nameOf(state.selected)}`;
}

function drawSum() {
  sumPath.setAttribute("d", pathOf(sumCurve()));
  while (parts.children.length < state.terms.length) parts.append(makeSvg("path", { class: "curve part" }));
  while (parts.children.length > state.terms.length) parts.lastChild.remove();
  state.terms.forEach((term, index) => {
    const path = parts.children[index];
    styleAsAtom(path, index);
    path.setAttribute("d", term.on && showParts.checked ? pathOf(termCurve(term)) : "");
  });
  const fitted = fittedError();
  errorText.textContent = percent(state.isEdited ? sumError() : fitted);
  errorNote.textContent = state.isEdited ? `now; ${percent(fitted)} with its own weights` : "full Procrustes distance";
  drawing.setAttribute(
    "aria-label",
    `Shape ${nameOf(state.selected)} under the sum of ${state.terms.filter((term) => term.on).length} atoms, error ${errorText.textContent}`,
  );
}

function drawSlider() {
  slider.value = state.sparsity;
  sliderText.textContent = `${state.sparsity} of at most ${nNonzero}`;
  slider.setAttribute("aria-valuetext", `${state.sparsity} ${state.sparsity === 1 ? "atom" : "atoms"}, error ${percent(fittedError())}`);
}

/** The drawing, for downloads. */
export function shapeDrawing() {
  return drawing;
}

/** Makes the panel. */
export function startShape() {
  originalPath = makeSvg("path", { class: `${outline} original` });
  sumPath = makeSvg("path", { class: "curve sum", id: "sum-path" });
  parts = makeSvg("g", {});
  numbers = makeSvg("g", { class: "landmark-numbers" });
  // Landmarks without a line are told apart by their numbers.
  showNumbers = make("input", { type: "checkbox", id: "show-numbers", checked: hasLandmarks && !page.joined, onchange: drawOriginal });
  drawing = makeSvg("svg", { class: "shape-drawing", role: "img" }, originalPath, parts, sumPath, numbers);
  errorText = make("b", { id: "error" });
  errorNote = make("span", { class: "note" });
  about = make("p", { class: "note shape-about" });
  showParts = make("input", { type: "checkbox", checked: true, onchange: drawSum });
  sliderText = make("span", { class: "note" });
  slider = make("input", {
    type: "range",
    id: "sparsity",
    min: 1,
    max: nNonzero,
    step: 1,
    value: nNonzero,
    "aria-label": "Number of atoms",
    oninput: () => loadCode(Number(slider.value)),
  });
  const step = (by) => () => selectShape((state.selected + by + nShapes) % nShapes);
  byId("shape-tools").append(
    make("button", { type: "button", class: "quiet square", "aria-label": "Previous shape", text: "\u2190", onclick: step(-1) }),
    make("button", { type: "button", class: "quiet square", "aria-label": "Next shape", text: "\u2192", onclick: step(1) }),
  );
  byId("shape").append(
    about,
    drawing,
    make(
      "p",
      { class: "key" },
      make("span", { class: "key-original", text: "original" }),
      make("span", { class: "key-sum", text: "sum of atoms" }),
      make("label", { class: "inline key-parts" }, showParts, " its parts"),
      ...(hasLandmarks ? [make("label", { class: "inline key-parts" }, showNumbers, " numbers")] : []),
    ),
    make("p", { class: "error-line" }, make("span", { text: "Error " }), errorText, " ", errorNote),
    make("div", { class: "slider-line" }, make("label", { for: "sparsity", text: "Atoms" }), slider, sliderText),
  );
  on(["selected"], drawOriginal);
  on(["selected", "terms"], drawSum);
  on(["selected", "sparsity"], drawSlider);
}
