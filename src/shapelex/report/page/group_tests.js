// Whether the groups differ: in shape, and in the use and weight of each atom.
import { groupText } from "./categories.js";
import { page } from "./data.js";
import { byId, count, make, makeScroll, makeSelect, makeSvg, number, percent, share } from "./dom.js";
import { makeThumbnail, outline, posedAtom } from "./drawing.js";

const WIDTH = 240;
const STEP = 13;
const MARGIN = 9;
const N_COLORS = 8;

let measure = "use";

/** A P value with as many digits as it needs. */
function pText(value) {
  return value === null ? "" : value < 0.001 ? number(value) : value.toFixed(3);
}

function color(group) {
  return `var(--series-${group % N_COLORS})`;
}

function swatch(group) {
  const mark = make("span", { class: "swatch", "aria-hidden": "true" });
  mark.style.setProperty("--color", color(group));
  return mark;
}

/** Averages of the groups as dots, with their intervals. */
function dots(row, names, most) {
  const place = (value) => MARGIN + ((WIDTH - 2 * MARGIN) * Math.max(0, value)) / (most || 1);
  const values = row.means.map((mean, group) => `${names[group]} ${mean === null ? "none" : measure === "use" ? share(mean) : mean.toFixed(2)}`);
  const drawing = makeSvg("svg", { class: "dots", viewBox: `0 0 ${WIDTH} ${STEP * names.length + 4}`, role: "img", "aria-label": values.join(", ") });
  row.means.forEach((mean, group) => {
    if (mean === null) return;
    const y = STEP * (group + 0.5) + 2;
    const marks = [];
    if (row.low[group] !== null) marks.push(makeSvg("line", { x1: place(row.low[group]), x2: place(row.high[group]), y1: y, y2: y }));
    marks.push(makeSvg("circle", { cx: place(mean), cy: y, r: 4 }), makeSvg("title", { text: values[group] }));
    const mark = makeSvg("g", { class: "dot" }, makeSvg("line", { class: "rail", x1: MARGIN, x2: WIDTH - MARGIN, y1: y, y2: y }), ...marks);
    mark.style.setProperty("--color", color(group));
    drawing.append(mark);
  });
  return drawing;
}

function sentence({ shape, column, names, permutations, units, counts }) {
  const groups = names.map((name, group) => `${groupText(name)} (${count(counts[group])})`).join(", ");
  const isFound = shape.p <= 0.05;
  const of = units === "shapes" ? "" : ` of ${count(counts.reduce((a, b) => a + b, 0))} ${units}`;
  return [
    make("p", { class: "verdict", text: `Shape ${isFound ? "differs" : "does not differ clearly"} by ${column}: P = ${pText(shape.p)}.` }),
    make("p", {
      class: "hint",
      text: `Differences between the groups explain ${percent(shape.r2)} of the variation of shape (F = ${number(shape.f)}, ${shape.df.join(" and ")} degrees of freedom, ${count(permutations)} permutations${of}). Groups: ${groups}.`,
    }),
  ];
}

function tableOf({ atoms, names, alpha }) {
  const rows = atoms.filter((row) => row.measure === measure && row.p !== null).sort((a, b) => a.fdr - b.fdr || a.p - b.p || a.atom - b.atom);
  const most = Math.max(...rows.flatMap((row) => [...row.high, ...row.means].filter((value) => value !== null)), 0);
  const scale = measure === "use" ? `used by, 0 to ${share(most)}` : `weight where used, 0 to ${number(Number(most.toFixed(2)))}`;
  const titles = ["atom", "", scale, "P, FDR", "P", "difference", "d"];
  const head = make("tr", {}, ...titles.map((text, i) => make("th", { scope: "col", text, class: i > 2 ? "number" : null })));
  const lines = rows.map((row) => {
    const [low, high] = row.interval;
    const difference = row.difference === null ? "" : number(Number(row.difference.toFixed(3)));
    return make(
      "tr",
      { class: row.fdr <= alpha ? "found" : null },
      make("th", { scope: "row", text: String(row.atom) }),
      make("td", { class: "tiny" }, makeThumbnail([posedAtom(row.atom)], [outline])),
      make("td", {}, dots(row, names.map(groupText), most)),
      make("td", { class: "number" }, make("strong", { text: pText(row.fdr) })),
      make("td", { class: "number", text: pText(row.p) }),
      make(
        "td",
        { class: "number", title: row.contrast },
        make("strong", { text: difference }),
        make("span", { class: "note", text: low === null ? "" : ` (${number(Number(low.toFixed(3)))} to ${number(Number(high.toFixed(3)))})` }),
        names.length > 2 ? make("span", { class: "note line", text: row.contrast }) : "",
      ),
      make("td", { class: "number", text: row.d === null ? "" : number(Number(row.d.toFixed(2))) }),
    );
  });
  if (!rows.length) return make("p", { class: "hint", text: "Nothing can be compared: all shapes are alike in this." });
  return makeScroll("Atoms by group", make("table", { class: "tests-table" }, make("thead", {}, head), make("tbody", {}, ...lines)));
}

function draw(tests) {
  const remarks = tests.remarks.map((text) => make("p", { class: "hint", text }));
  const legend = make("p", { class: "legend" }, ...tests.names.map((name, group) => make("span", { class: "label-button" }, swatch(group), make("span", { text: groupText(name) }))));
  byId("group-tests").replaceChildren(...sentence(tests), ...remarks, legend, tableOf(tests), methods(tests));
}

function methods({ alpha, confidence, permutations, n_used: nUsed, n_shapes: nAll, names }) {
  const texts = [
    `What was tested. Shape: Procrustes analysis of variance of the aligned shapes. Atoms: the share of shapes that use an atom, and the average modulus of its weight where it is used. P is the share of ${count(permutations)} random permutations of the groups that differ as much; ` +
      `P, FDR is corrected for all atoms and both measures (Benjamini and Hochberg), and bold rows are below ${alpha}. ` +
      `Bars are bootstrap intervals of ${Math.round(100 * confidence)}\u202f%; d is the difference in standard deviations within groups${names.length > 2 ? "; the difference is that between the groups with the largest and the smallest average" : ""}. ` +
      `${nUsed === nAll ? `All ${count(nAll)} shapes` : `${count(nUsed)} of ${count(nAll)} shapes`} were used, whatever is filtered above.`,
  ];
  return make("details", { class: "methods" }, make("summary", { text: "What was tested" }), ...texts.map((text) => make("p", { class: "hint", text: text.replace("What was tested. ", "") })));
}

/** Makes the panel, where groups were compared. */
export function startGroupTests() {
  const tests = page.group_tests;
  if (!tests) return;
  byId("group-tests-panel").hidden = false;
  if (tests.refused) {
    byId("group-tests").replaceChildren(make("p", { class: "hint", text: `The groups of ${tests.column} were not compared: ${tests.refused}` }));
    return;
  }
  const options = [
    ["use", "use"],
    ["weight", "weight"],
  ];
  const select = makeSelect("Compare atoms by", options, measure, (chosen) => {
    measure = chosen;
    draw(tests);
  });
  byId("group-tests-tools").append(make("label", { class: "inline" }, "atoms by ", select));
  draw(tests);
}
