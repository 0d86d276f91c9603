// Starts every part of the page, and lets others read its numbers.
import { startAbout } from "./about.js";
import { startAtoms } from "./atoms.js";
import { nameOf, nShapes } from "./data.js";
import { byId } from "./dom.js";
import { atomsDrawing } from "./atoms_svg.js";
import { confusion, startClasses } from "./classes.js";
import { codesButton, codesText } from "./codes_table.js";
import { downloadTools, svgText } from "./download.js";
import { startErrors } from "./errors.js";
import { exclusionText } from "./exclusion.js";
import { excludeButton, startFilter } from "./filter.js";
import { groupMeans, groupUse, startGroups } from "./groups.js";
import { startMap } from "./map.js";
import { farFrom, view } from "./map_drawing.js";
import { mapDrawings } from "./map_svg.js";
import { morphConfiguration, morphDrawing, morphLength, startMorph } from "./morph.js";
import { startSearch } from "./search.js";
import { shapeDrawing, startShape } from "./shape.js";
import { flush, selectShape, set, start, state } from "./store.js";
import { sumConfiguration, sumError } from "./sum.js";
import { startTheme } from "./theme.js";
import { isExcluded, isShown, shapesWhere } from "./subset.js";
import { startTable } from "./table.js";
import { startTime } from "./time.js";
import { startWeights, weightsDrawing } from "./weights.js";

startAbout();
startAtoms();
startMap();
startSearch();
startShape();
startWeights();
startMorph();
startErrors();
startFilter();
startTable();
startGroups();
startClasses();
startTime();

byId("shape-tools").prepend(downloadTools(() => [shapeDrawing(), weightsDrawing()], () => `shape-${nameOf(state.selected)}`));
byId("morph-tools").append(downloadTools(morphDrawing, "morph"));
byId("shape-tools").prepend(excludeButton());
byId("map-tools").append(downloadTools(mapDrawings, "map"));
byId("atoms-tools").append(downloadTools(atomsDrawing, "atoms"));
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
    excluded: exclusionText,
    map: () => ({ zoom: view.zoom, x: view.x, y: view.y }),
    means: () => (flush(), groupMeans()),
    use: () => (flush(), groupUse()),
    confusion: () => (flush(), confusion()),
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
        shown: shapesWhere(isShown),
        excluded: shapesWhere(isExcluded),
        morph: { start: state.start, end: state.end, time: state.time, length: morphLength(), configuration: Array.from(morphConfiguration()) },
      };
    },
  }),
});
