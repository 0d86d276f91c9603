// Groups of shapes: their mean shapes, and how they use the atoms.
import { categoriesOf, columnNamed, groupText } from "./categories.js";
import { atomOrder, codeOf, errorOf, nAtoms, nNonzero, nShapes, page } from "./data.js";
import { curveOf } from "./complex.js";
import { byId, count, make, makeScroll, makeSelect, percent, share } from "./dom.js";
import { downloadTools } from "./download.js";
import { makeThumbnail, outline } from "./drawing.js";
import { meanShape } from "./means.js";
import { on, set, state } from "./store.js";
import { isCounted, isWhole, shapesWhere } from "./subset.js";
import { makeGrid } from "./atoms_svg.js";
import { makeUseTable } from "./use_svg.js";

let shown = { names: [], members: [], counts: [], rmse: [], use: [], nLeftOut: 0, isOfAll: true };
let means = [];
let waiting = 0;

/** The shapes of each group that are shown and not excluded. */
function findGroups() {
  const counted = shapesWhere(isCounted);
  const summary = page.groups.find((group) => group.column === state.grouping);
  if (!summary) return { names: ["all shapes"], members: [counted], nLeftOut: 0, summary: null };
  const { names, numbers } = categoriesOf(columnNamed(state.grouping));
  const places = new Map(summary.names.map((name, group) => [name, group]));
  const members = summary.names.map(() => []);
  for (const k of counted) if (places.has(names[numbers[k]])) members[places.get(names[numbers[k]])].push(k);
  return { names: summary.names.map(groupText), members, nLeftOut: summary.n_left_out, summary };
}

/** Use of the atoms by shapes, and their error. */
function summarize(shapes) {
  const use = new Float64Array(nAtoms);
  let square = 0;
  for (const k of shapes) {
    for (const term of codeOf(k, nNonzero)) use[term.atom] += 1 / shapes.length;
    square += errorOf(k) ** 2 / shapes.length;
  }
  return { use, rmse: Math.sqrt(square) };
}

function update() {
  const { names, members, nLeftOut, summary } = findGroups();
  // As long as nothing is filtered or excluded, the numbers are of all shapes, those included that the page does not hold.
  const isOfAll = isWhole() && (summary !== null || nShapes === page.n_shapes);
  const own = isOfAll && summary ? null : members.map(summarize);
  shown = {
    names,
    members,
    nLeftOut,
    isOfAll,
    counts: own ? members.map((shapes) => shapes.length) : summary.counts,
    rmse: own ? own.map(({ rmse }) => rmse) : summary.rmse,
    use: own ? own.map(({ use }) => use) : summary.use,
  };
  drawUse();
  byId("groups-hint").textContent = hint();
  // Means of many shapes take a moment: the rest of the page is drawn before.
  clearTimeout(waiting);
  waiting = setTimeout(drawMeans, 30);
}

function hint() {
  const which = isWhole() ? (nShapes < page.n_shapes ? `the ${count(nShapes)} shapes on this page` : "all shapes") : "the shapes that are shown and not excluded";
  const more = shown.nLeftOut ? ` The ${count(shown.nLeftOut)} smallest groups are not here.` : "";
  const table = shown.isOfAll && nShapes < page.n_shapes ? `, the table from all ${count(page.n_shapes)}` : "";
  return `Computed from ${which}${table}.${more}`;
}

function drawMeans() {
  const filled = shown.names.map((_, group) => group).filter((group) => shown.members[group].length);
  means = filled.map((group) => ({ name: shown.names[group], n: shown.members[group].length, configuration: meanShape(shown.members[group]) }));
  const everything = filled.length > 1 ? curveOf(meanShape(shown.members.flat())) : null;
  byId("means").replaceChildren(
    ...means.map(({ name, n, configuration }) => {
      const curves = [...(everything ? [everything] : []), curveOf(configuration)];
      const classes = [...(everything ? ["curve ghost"] : []), everything ? "curve sum" : outline];
      return make(
        "div",
        { class: "mean" },
        makeThumbnail(curves, classes),
        make("span", { class: "name", text: name }),
        make("span", { class: "note", text: `${count(n)} ${n === 1 ? "shape" : "shapes"}` }),
      );
    }),
    make("p", {
      class: "hint",
      text: `Full Procrustes means.${everything ? " Gray: the mean of all of these groups." : ""}${means.length ? "" : " No shape is shown."}`,
    }),
  );
}

function drawUse() {
  const titles = [state.grouping || "group", "shapes", "error"];
  const head = make(
    "tr",
    {},
    ...titles.map((text) => make("th", { scope: "col", text, title: text })),
    ...atomOrder.map((atom) => make("th", { scope: "col", text: String(atom), "aria-label": `atom ${atom}` })),
  );
  const rows = shown.names.map((name, i) =>
    make(
      "tr",
      {},
      make("th", { scope: "row", text: name, title: name }),
      make("td", { class: "number", text: count(shown.counts[i]) }),
      make("td", { class: "number", text: shown.counts[i] ? percent(shown.rmse[i]) : "" }),
      ...atomOrder.map((atom) => {
        const value = shown.use[i][atom];
        const cell = make("td", { class: "heat", text: value ? String(Math.round(100 * value)) : "·", title: `atom ${atom}: ${share(value)}` });
        cell.style.setProperty("--share", value);
        return cell;
      }),
    ),
  );
  byId("use").replaceChildren(
    make("p", { class: "hint", text: "Percent of the shapes of a group that use each atom. Atoms are ordered by use: the most used first." }),
    makeScroll("Use of the atoms by group", make("table", { class: "heat-table" }, make("thead", {}, head), make("tbody", {}, ...rows))),
  );
}

/** The mean shapes of the groups, as they are drawn. */
export function groupMeans() {
  clearTimeout(waiting);
  drawMeans();
  return means.map(({ name, n, configuration }) => ({ name, n, configuration: Array.from(configuration) }));
}

/** The use table, as numbers. */
export function groupUse() {
  return { names: shown.names, counts: Array.from(shown.counts), rmse: Array.from(shown.rmse), use: shown.use.map((row) => Array.from(row)) };
}

/** Makes the section. */
export function startGroups() {
  const options = page.groups.map((group) => [group.column, group.column]);
  if (options.length) {
    // The groups that were compared, if any, are those that the page starts with.
    state.grouping = (options.find(([column]) => column === page.group_tests?.column) ?? options[0])[0];
    const select = makeSelect("Group shapes by", [...options, ["", "no column"]], state.grouping, (grouping) => set({ grouping }));
    byId("groups-tools").append(make("label", { class: "inline" }, "group by ", select));
  }
  byId("means-tools").append(downloadTools(() => makeGrid(means.map(({ name, n, configuration }) => ({ points: curveOf(configuration), title: name, note: `${count(n)} shapes` }))), "means"));
  byId("use-tools").append(downloadTools(() => makeUseTable({ title: state.grouping || "group", ...shown }), "use"));
  on(["grouping", "subset"], update);
}
