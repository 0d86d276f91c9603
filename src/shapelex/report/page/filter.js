// Conditions that shapes must meet to be shown, and the list of excluded shapes.
import { categoriesOf, groupText, isCategorical } from "./categories.js";
import { columns, entryOf, errorOf, nameOf, nShapes } from "./data.js";
import { announce, byId, count, make, makeSelect } from "./dom.js";
import { saveExclusion } from "./exclusion.js";
import { on, state } from "./store.js";
import { isCounted, isExcluded, isShown, listConditions, removeCondition, setCondition, setExcluded, shapesWhere } from "./subset.js";

const chosen = new Map(); // groups of a column that are shown, by its key

/** What shapes can be filtered by: all columns, and the error. */
const fields = [
  ...columns.map((column, i) => ({ key: String(i), name: column.name, column })),
  { key: "error", name: "error (%)", column: null },
];

function addGroup({ key, name, column }, group) {
  const categories = categoriesOf(column);
  // More groups of one column: shapes of any of them are shown.
  const groups = listConditions().some(([known]) => known === key) ? chosen.get(key) : new Set();
  groups.add(group);
  chosen.set(key, groups);
  const words = [...groups].map((one) => groupText(categories.names[one])).join(" or ");
  setCondition(key, `${name}: ${words}`, (k) => groups.has(categories.numbers[k]));
}

function addRange({ key, name, column }, low, high) {
  const [from, to] = [low === "" ? -Infinity : Number(low), high === "" ? Infinity : Number(high)];
  const value = column ? (k) => column.values[k] : (k) => 100 * errorOf(k);
  const words = low === "" ? `at most ${high}` : high === "" ? `at least ${low}` : `${low} to ${high}`;
  setCondition(key, `${name}: ${words}`, (k) => value(k) >= from && value(k) <= to);
}

function addWords({ key, name, column }, text) {
  const words = text.toLowerCase();
  setCondition(key, `${name}: contains ${text}`, (k) => String(entryOf(column, k)).toLowerCase().includes(words));
}

/** The controls for the values of a field; `add` reads them. */
function makeControls(field) {
  const { column, name } = field;
  if (column && column.kind !== "id" && isCategorical(column) && categoriesOf(column).names.length <= 200) {
    const options = categoriesOf(column).names.map((one, group) => [String(group), groupText(one)]);
    const select = makeSelect(`Value of ${name}`, options, "0", () => {});
    return { parts: [select], add: () => addGroup(field, Number(select.value)) };
  }
  if (!column || column.kind === "number") {
    const [low, high] = ["from", "to"].map((word) => make("input", { type: "number", step: "any", placeholder: word, "aria-label": `${name} ${word}` }));
    return { parts: [low, high], add: () => (low.value !== "" || high.value !== "") && addRange(field, low.value, high.value) };
  }
  const input = make("input", { type: "search", placeholder: "contains", "aria-label": `${name} contains` });
  return { parts: [input], add: () => input.value.trim() && addWords(field, input.value.trim()) };
}

/** Makes the panel. */
export function startFilter() {
  const place = make("span", { class: "filter-values" });
  const first = fields.find(({ column }) => column && column.kind !== "id" && isCategorical(column)) ?? fields[fields.length - 1];
  let controls;
  const show = (key) => {
    controls = makeControls(fields.find((field) => field.key === key));
    place.replaceChildren(...controls.parts);
  };
  const select = makeSelect("Filter by", fields.map(({ key, name }) => [key, name]), first.key, show);
  show(first.key);
  const form = make(
    "form",
    { class: "filter-form", onsubmit: (event) => (event.preventDefault(), controls.add()) },
    make("label", { class: "inline" }, "Show ", select),
    place,
    make("button", { type: "submit", class: "quiet", id: "add-condition", text: "Add filter" }),
  );
  const chips = make("span", { class: "chips" });
  const words = make("span", { class: "note", id: "shown-words", role: "status" });
  const button = (id, text, onclick) => make("button", { type: "button", class: "quiet", id, text, onclick });
  const excludeShown = button("exclude-shown", "Exclude shown", () => {
    const shapes = shapesWhere(isCounted);
    setExcluded(shapes, true);
    announce(`${count(shapes.length)} shapes are excluded.`);
  });
  const includeAll = button("include-all", "Include all", () => setExcluded(shapesWhere(isExcluded), false));
  const saveList = button("save-excluded", "Exclusion list (CSV)", saveExclusion);
  saveList.title = "For shapelex import --exclude and shapelex learn --exclude";
  byId("filter").append(form, chips, make("span", { class: "filter-actions" }, words, excludeShown, includeAll, saveList));
  on(["subset"], () => {
    const conditions = listConditions();
    chips.replaceChildren(
      ...conditions.map(([key, text]) =>
        make("button", { type: "button", class: "chip", title: `Remove: ${text}`, "aria-label": `Remove the filter ${text}`, text: `${text} \u00d7`, onclick: () => removeCondition(key) }),
      ),
    );
    const [nShown, nExcluded] = [shapesWhere(isShown).length, shapesWhere(isExcluded).length];
    words.textContent =
      (nShown < nShapes ? `${count(nShown)} of ${count(nShapes)} shapes are shown` : `All ${count(nShapes)} shapes are shown`) +
      (nExcluded ? `, ${count(nExcluded)} excluded` : "");
    excludeShown.hidden = !conditions.length;
    includeAll.hidden = saveList.hidden = !nExcluded;
  });
}

/** A button that excludes the shape on the workbench, or includes it again. */
export function excludeButton() {
  const toggle = make("button", {
    type: "button",
    class: "quiet small toggle",
    id: "exclude",
    onclick: () => {
      setExcluded([state.selected], !isExcluded(state.selected));
      announce(`Shape ${nameOf(state.selected)} is ${isExcluded(state.selected) ? "excluded" : "included"}.`);
    },
  });
  on(["selected", "subset"], () => {
    toggle.setAttribute("aria-pressed", String(isExcluded(state.selected)));
    toggle.textContent = isExcluded(state.selected) ? "Excluded" : "Exclude";
  });
  return toggle;
}
