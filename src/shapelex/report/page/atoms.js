// The atoms, and the shapes that use one of them most.
import { atomOrder, errorOf, labelText, nameOf, page } from "./data.js";
import { announce, byId, make, percent, share, shortened } from "./dom.js";
import { makeThumbnail, outline, posedAtom, posedShape } from "./drawing.js";
import { sharesOf } from "./shares.js";
import { on, selectShape, set, state } from "./store.js";
import { isCounted } from "./subset.js";

const N_USERS = 12;

/** Whether an atom is found again from halves of the data; null where it is not known. */
function stabilityOf(atom) {
  const { stability } = page.atoms;
  if (!stability || !stability.distances) return null;
  return { distance: stability.distances[atom].toFixed(2), chance: stability.chance[atom].toFixed(2), isFound: stability.can_be_named[atom] };
}

/** The same in words. */
function stabilityWords(atom) {
  const found = stabilityOf(atom);
  if (!found) return "";
  const { distance, chance, isFound } = found;
  return (
    `Learned again from halves of the data, atom ${atom} is ${distance} from its match on average, and would be ${chance} from random shapes: ` +
    (isFound ? "it comes back, and can be named." : "it does not come back. Do not name or interpret it.")
  );
}

function makeStability(atom) {
  const { distance, chance, isFound } = stabilityOf(atom);
  return make(
    "span",
    { class: "atom-stability" },
    make("b", { text: isFound ? "comes back" : "do not name" }),
    make("span", { text: `distance ${distance}` }),
    make("span", { text: `chance ${chance}` }),
  );
}

function makeCard(atom) {
  const use = page.atoms.use[atom];
  const typical = page.atoms.typical[atom];
  const stability = stabilityOf(atom);
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("span", {}));
  bar.firstChild.style.setProperty("--share", use);
  return make(
    "button",
    {
      type: "button",
      class: stability && !stability.isFound ? "atom unnamed" : "atom",
      "aria-pressed": "false",
      "data-atom": atom,
      "aria-label": `Atom ${atom}, used by ${share(use)} of the shapes, typical weight ${typical.toFixed(2)}${stability ? `. ${stabilityWords(atom)}` : ""}`,
      onclick: () => set({ atom: state.atom === atom ? -1 : atom }),
    },
    make("span", { class: "atom-name", text: `Atom ${atom}` }),
    makeThumbnail([posedAtom(atom)], [outline]),
    bar,
    make("span", { class: "atom-use" }, make("b", { text: share(use) }), make("span", { text: `weight ${typical.toFixed(2)}` })),
    ...(stability ? [makeStability(atom)] : []),
  );
}

/** A button with a drawing of shape k that puts it on the workbench. */
export function makeShapeButton(k, note, curves, classes) {
  const name = nameOf(k);
  return make(
    "button",
    {
      type: "button",
      class: "shape-button",
      "data-shape": k,
      "aria-label": `Shape ${name}${labelText(k) ? `, ${labelText(k)}` : ""}, ${note}`,
      onclick: () => {
        selectShape(k);
        announce(`Shape ${name} is on the workbench.`);
      },
    },
    makeThumbnail(curves || [posedShape(k)], classes || [outline]),
    make("span", { class: "name", text: shortened(name), title: name }),
    make("span", { class: "note", text: note, title: note }),
  );
}

function showUsers() {
  const { atom } = state;
  for (const card of byId("atoms").querySelectorAll("[data-atom]")) card.setAttribute("aria-pressed", String(Number(card.dataset.atom) === atom));
  const place = byId("atom-users");
  place.hidden = atom < 0;
  if (atom < 0) return;
  const shares = sharesOf(atom);
  const users = Array.from(shares.keys()).filter((k) => shares[k] > 0 && isCounted(k));
  users.sort((i, j) => shares[j] - shares[i] || i - j);
  const buttons = users.slice(0, N_USERS).map((k) => makeShapeButton(k, `share ${share(shares[k])}`));
  const words = users.length
    ? `The shapes that use atom ${atom} most, by the share of their reconstruction that this atom alone explains: the squared ` +
      "cosine of the angle between atom and reconstruction. It is 100\u202f% where the reconstruction is the atom, and small " +
      "where other atoms cancel a large weight. The map can be colored by it."
    : `No shape that is shown uses atom ${atom}.`;
  const paragraphs = [words, stabilityWords(atom)].filter(Boolean).map((text) => make("p", { class: "hint", text }));
  place.replaceChildren(...paragraphs, make("div", { class: "strip" }, ...buttons));
}

/** Draws the atoms. */
export function startAtoms() {
  byId("atoms").append(...atomOrder.map(makeCard));
  byId("stability").textContent = page.atoms.stability ? page.atoms.stability.summary : "";
  byId("stability").hidden = !page.atoms.stability;
  on(["atom", "subset"], showUsers);
}

/** The error of a shape, as a note under it. */
export function errorNote(k) {
  return `error ${percent(errorOf(k))}`;
}
