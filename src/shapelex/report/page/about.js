// What this is, in words and numbers.
import { nAtoms, nNonzero, nShapes, page } from "./data.js";
import { byId, count, make, percent } from "./dom.js";

function plural(noun, many) {
  return many === 1 ? noun : noun.replace(/^((?:closed |open )?(?:\S+ )?)(shape|outline|curve)/, "$1$2s");
}

function fact(value, name, note) {
  return make("div", { class: "fact" }, make("dt", { text: name }), make("dd", { text: value }), make("p", { text: note }));
}

function table(rows) {
  return make(
    "table",
    { class: "plain" },
    make("tbody", {}, ...rows.map(([key, value]) => make("tr", {}, make("th", { scope: "row", text: key }), make("td", { text: value })))),
  );
}

/** Preparation, remarks, commands and files, folded: the line that is always seen says what is inside. */
function drawOrigin() {
  const { preparation, notes, provenance } = page;
  const nNotes = notes.length === 1 ? "1 note" : `${notes.length} notes`;
  byId("origin-hint").textContent = [preparation, nNotes, "commands and files"].filter(Boolean).join("; ");
  byId("origin").append(
    make("h3", { text: "Preparation" }),
    make("p", { text: preparation ? `${preparation[0].toUpperCase()}${preparation.slice(1)}.` : "Not known: the shapes came without a record of how they were resampled or registered." }),
    make("h3", { text: "Notes" }),
    notes.length ? make("ul", {}, ...notes.map((text) => make("li", { text }))) : make("p", { text: "None." }),
    make("h3", { text: "Commands and files" }),
    table(provenance),
  );
  // What is folded would be missing on paper.
  addEventListener("beforeprint", () => (byId("origin").open = true));
}

/** What the error says of other shapes: little where the dictionary was learned from these. */
function trainingWords() {
  if (page.errors.is_training) return "The dictionary was learned from these shapes.";
  return `It was ${percent(page.errors.training)} on the shapes that the dictionary was learned from.`;
}

/** Fills the head and the foot of the page. */
export function startAbout() {
  const errors = page.errors;
  byId("lead").textContent =
    `${count(page.n_shapes)} ${plural(page.kind, page.n_shapes)}, ` +
    (page.n_population ? `spread evenly over ${count(page.n_population)}, ` : "") +
    "each rebuilt from at most " +
    `${nNonzero} of ${nAtoms} atoms, with a root mean square error (RMSE) of ${percent(errors.rmse)}. ${trainingWords()}`;
  byId("facts").append(
    fact(count(page.n_shapes), "shapes", page.kind),
    fact(String(nAtoms), "atoms", "typical shapes, learned"),
    fact(String(nNonzero), "atoms per shape", "at most, each with a weight"),
    fact(percent(errors.rmse), errors.is_training ? "training error (RMSE)" : "error (RMSE)", `median ${percent(errors.median)}, 95 of 100 below ${percent(errors.p95)}`),
  );
  const paragraphs = [
    "A dictionary holds a few typical shapes, its atoms. Every shape of the set is written as a sum of some of them, each " +
      "scaled and rotated individually by a complex weight, drawn here as an arrow. The length of the arrow is the scale of the " +
      "atom, its direction the angle of rotation. Position, size and rotation of a shape do not matter.",
  ];
  if (page.how_chosen) {
    paragraphs.push(
      `This page holds ${count(nShapes)} of the ${count(page.n_shapes)} shapes, ${page.how_chosen}. ` +
        "The numbers, the use of the atoms and the histogram are of " +
        (page.n_population ? `these ${count(page.n_shapes)}, which are spread evenly over a set of ${count(page.n_population)}.` : "all shapes."),
    );
  }
  paragraphs.push(...page.findings.map((text) => `To check: ${text}. The command shapelex check tells what to do about it.`));
  byId("prose").append(...paragraphs.map((text, i) => make("p", { text, class: i ? "notice" : null })));
  byId("made").append(table(page.settings));
  drawOrigin();
}
