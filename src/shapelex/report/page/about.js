// What this is, in words and numbers.
import { nAtoms, nNonzero, nShapes, page } from "./data.js";
import { byId, count, make, percent } from "./dom.js";

function plural(noun, many) {
  return many === 1 ? noun : noun.replace(/^((?:closed |open )?(?:\S+ )?)(shape|outline|curve)/, "$1$2s");
}

function fact(value, name, note) {
  return make("div", { class: "fact" }, make("dt", { text: name }), make("dd", { text: value }), make("p", { text: note }));
}

function table(title, rows) {
  return make(
    "div",
    {},
    make("h3", { text: title }),
    make(
      "table",
      { class: "plain" },
      make("tbody", {}, ...rows.map(([key, value]) => make("tr", {}, make("th", { scope: "row", text: key }), make("td", { text: value })))),
    ),
  );
}

/** Fills the head and the foot of the page. */
export function startAbout() {
  const errors = page.errors;
  byId("lead").textContent =
    `${count(page.n_shapes)} ${plural(page.kind, page.n_shapes)}, ` +
    (page.n_population ? `spread evenly over ${count(page.n_population)}, ` : "") +
    "each rebuilt from at most " +
    `${nNonzero} of ${nAtoms} atoms, with a typical error of ${percent(errors.rmse)}.`;
  byId("facts").append(
    fact(count(page.n_shapes), "shapes", page.kind),
    fact(String(nAtoms), "atoms", "typical shapes, learned"),
    fact(String(nNonzero), "atoms per shape", "at most, each with a weight"),
    fact(percent(errors.rmse), "error (RMSE)", `median ${percent(errors.median)}, 95 of 100 below ${percent(errors.p95)}`),
  );
  const paragraphs = [
    "A dictionary holds a few typical shapes, its atoms. Every shape of the set is written as a sum of some of them, each " +
      "scaled and turned by a weight of its own: a complex number, drawn here as an arrow. The length of the arrow is how much the " +
      "atom counts, its direction how far the atom is turned. Position, size and rotation of a shape play no role, so nothing had to be aligned first.",
  ];
  if (page.how_chosen) {
    paragraphs.push(
      `This page holds ${count(nShapes)} of the ${count(page.n_shapes)} shapes, ${page.how_chosen}. ` +
        "The numbers, the use of the atoms and the histogram are of " +
        (page.n_population ? `these ${count(page.n_shapes)}, which are spread evenly over a set of ${count(page.n_population)}.` : "all shapes."),
    );
  }
  byId("prose").append(...paragraphs.map((text, i) => make("p", { text, class: i ? "notice" : null })));
  byId("made").append(table("Settings", page.settings), table("Origin", page.provenance));
}
