// The geodesic between two shapes.
import { configuration, labelText, nameOf, shapePoses } from "./data.js";
import { curveOf, geodesic, scaled } from "./complex.js";
import { byId, make, makeSvg } from "./dom.js";
import { makePath, makeThumbnail, outline, pathOf, posedShape, viewBoxOf } from "./drawing.js";
import { on, set, state } from "./store.js";

const N_STEPS = 9;
let path = null; // the geodesic
let drawing, curve, strip, slider, words, play;
let playing = 0;

/** The configuration at the time of the slider. */
export function morphConfiguration() {
  return path.at(state.time);
}

/** Length of the geodesic. */
export function morphLength() {
  return path.length;
}

function posed(z) {
  return curveOf(scaled(shapePoses[2 * state.end], shapePoses[2 * state.end + 1], z));
}

function rebuild() {
  path = geodesic(configuration(state.start), configuration(state.end));
  const steps = Array.from({ length: N_STEPS }, (_, i) => posed(path.at(i / (N_STEPS - 1))));
  drawing.setAttribute("viewBox", viewBoxOf(steps, 0.1));
  drawing.replaceChildren(makePath(steps[0], { class: "curve end" }), makePath(steps[N_STEPS - 1], { class: "curve end" }), curve);
  strip.replaceChildren(
    ...steps.map((points, i) => {
      const time = i / (N_STEPS - 1);
      return make(
        "button",
        { type: "button", "aria-label": `Time ${time}`, "data-time": time, onclick: () => set({ time }) },
        makeThumbnail([points], [outline]),
      );
    }),
  );
  drawEnd("start");
  drawEnd("end");
}

function drawTime() {
  curve.setAttribute("d", pathOf(posed(morphConfiguration())));
  slider.value = state.time;
  const text = `time ${state.time.toFixed(2)}`;
  slider.setAttribute("aria-valuetext", text);
  words.textContent = `${text} · geodesic distance ${path.length.toFixed(3)} (at most 1.571)`;
  for (const button of strip.children) {
    button.toggleAttribute("data-near", Math.abs(Number(button.dataset.time) - state.time) <= 0.5 / (N_STEPS - 1));
  }
}

function drawEnd(which) {
  const k = state[which];
  byId(`morph-${which}`).replaceChildren(
    make("span", { class: "eyebrow", text: which === "start" ? "from" : "to" }),
    makeThumbnail([posedShape(k)], [outline]),
    make("b", { text: nameOf(k) }),
    make("span", { class: "note", text: labelText(k) }),
  );
}

function makeEnd(which) {
  return make(
    "div",
    { class: "morph-end" },
    make("div", { id: `morph-${which}` }),
    make("button", {
      type: "button",
      class: "quiet",
      text: "Use shape above",
      "aria-label": `Morph ${which === "start" ? "from" : "to"} the shape on the workbench`,
      onclick: () => set({ [which]: state.selected }),
    }),
  );
}

function toggle() {
  if (playing) {
    cancelAnimationFrame(playing);
    playing = 0;
    play.textContent = "Play";
    return;
  }
  play.textContent = "Pause";
  const begun = performance.now() - (2000 * Math.acos(1 - 2 * state.time)) / Math.PI;
  const frame = (now) => {
    // Slow at both ends, back and forth.
    set({ time: Math.round(500 * (1 - Math.cos((Math.PI * (now - begun)) / 2000))) / 1000 });
    playing = requestAnimationFrame(frame);
  };
  playing = requestAnimationFrame(frame);
}

/** The drawing, for downloads. */
export function morphDrawing() {
  return drawing;
}

/** Makes the panel. */
export function startMorph() {
  curve = makeSvg("path", { class: `${outline} sum`, id: "morph-path" });
  drawing = makeSvg("svg", { class: "morph-drawing", role: "img", "aria-label": "The shape on the way" }, curve);
  strip = make("div", { class: "strip morph-strip" });
  slider = make("input", {
    type: "range",
    id: "morph-time",
    min: 0,
    max: 1,
    step: 0.01,
    "aria-label": "Time along the geodesic",
    oninput: () => {
      if (playing) toggle();
      set({ time: Number(slider.value) });
    },
  });
  words = make("p", { class: "note", id: "morph-words" });
  play = make("button", { type: "button", class: "quiet", text: "Play", onclick: toggle });
  byId("morph").append(
    make("div", { class: "morph-stage" }, makeEnd("start"), drawing, makeEnd("end")),
    make("div", { class: "slider-line" }, play, slider),
    words,
    strip,
  );
  on(["start", "end"], rebuild);
  on(["start", "end", "time"], drawTime);
}
