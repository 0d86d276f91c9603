// Starts every part of the page, and lets others read its numbers.
import { startAbout } from "./about.js";
import { startAtoms } from "./atoms.js";
import { nameOf, nShapes } from "./data.js";
import { byId, make } from "./dom.js";
import { codesButton, codesText, downloadTools, saveCanvas, svgText } from "./download.js";
import { startErrors } from "./errors.js";
import { startMap } from "./map.js";
import { farFrom, mapCanvas } from "./map_drawing.js";
import { morphConfiguration, morphDrawing, morphLength, startMorph } from "./morph.js";
import { startSearch } from "./search.js";
import { shapeDrawing, startShape } from "./shape.js";
import { flush, selectShape, set, start, state } from "./store.js";
import { sumConfiguration, sumError } from "./sum.js";
import { startTheme } from "./theme.js";
import { startUse } from "./use.js";
import { startWeights, weightsDrawing } from "./weights.js";

startAbout();
startAtoms();
startMap();
startSearch();
startShape();
startWeights();
startMorph();
startErrors();
startUse();

byId("shape-tools").prepend(downloadTools(() => [shapeDrawing(), weightsDrawing()], () => `shape-${nameOf(state.selected)}`));
byId("morph-tools").append(downloadTools(morphDrawing, "morph"));
byId("map-tools").append(
  make("button", { type: "button", class: "quiet small", text: "PNG", "aria-label": "Save the map as PNG", onclick: () => saveCanvas(mapCanvas(), "shapelex-map") }),
);
byId("downloads").append(codesButton());

start(farFrom);
flush();
startTheme();

// What the page shows, as numbers: to read, and to choose shapes from the console.
Object.defineProperty(window, "shapelex", {
  value: Object.freeze({
    nShapes,
    select: selectShape,
    morph: (from, to, time) => set({ start: from, end: to, time }),
    codes: codesText,
    view: () => svgText([shapeDrawing(), weightsDrawing()]),
    state: () => {
      flush();
      return {
        selected: state.selected,
        sparsity: state.sparsity,
        isEdited: state.isEdited,
        terms: state.terms.map(({ atom, re, im, on }) => ({ atom, re, im, on })),
        sum: Array.from(sumConfiguration()),
        error: sumError(),
        morph: { start: state.start, end: state.end, time: state.time, length: morphLength(), configuration: Array.from(morphConfiguration()) },
      };
    },
  }),
});
