// Finds shapes by name or label.
import { labelText, nameOf, nShapes } from "./data.js";
import { announce, byId, make } from "./dom.js";
import { selectShape } from "./store.js";

const MOST = 8;

/** Makes the search box. */
export function startSearch() {
  let found = [];
  let active = -1;
  const list = make("ul", { id: "found", role: "listbox", "aria-label": "Shapes found", hidden: true });
  const input = make("input", {
    type: "search",
    id: "search-input",
    placeholder: "Find a shape by name or label",
    role: "combobox",
    "aria-label": "Find a shape by name or label",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": "found",
    autocomplete: "off",
    spellcheck: "false",
  });

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    active = -1;
  }

  function pick(k) {
    selectShape(k);
    input.value = "";
    close();
    announce(`Shape ${nameOf(k)} is on the workbench.`);
  }

  function mark(index) {
    active = index;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === index)));
    if (index >= 0) input.setAttribute("aria-activedescendant", `found-${index}`);
  }

  function search() {
    const words = input.value.trim().toLowerCase();
    found = [];
    if (words) {
      const exact = [];
      for (let k = 0; k < nShapes; k++) {
        const name = nameOf(k).toLowerCase();
        if (name === words) exact.push(k);
        else if (found.length < MOST && (name.includes(words) || labelText(k).toLowerCase().includes(words))) found.push(k);
      }
      found = [...exact, ...found].slice(0, MOST);
    }
    list.replaceChildren(
      ...found.map((k, i) =>
        make(
          "li",
          { id: `found-${i}`, role: "option", "aria-selected": "false", onpointerdown: (event) => (event.preventDefault(), pick(k)) },
          make("span", { text: nameOf(k) }),
          make("span", { class: "note", text: labelText(k) }),
        ),
      ),
    );
    if (words && !found.length) list.append(make("li", { class: "note", text: "No shape of this name or label." }));
    list.hidden = !words;
    input.setAttribute("aria-expanded", String(Boolean(words)));
    mark(found.length ? 0 : -1);
  }

  input.addEventListener("input", search);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && found.length) mark((active + 1) % found.length);
    else if (event.key === "ArrowUp" && found.length) mark((active + found.length - 1) % found.length);
    else if (event.key === "Enter" && active >= 0 && !list.hidden) pick(found[active]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  byId("search").append(input, list);
}
