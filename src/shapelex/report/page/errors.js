// Errors: their histogram, the worst reconstructions, and how the fit went.
import { atoms, codeOf, configuration, errorOf, nCoordinates, nNonzero, page, shapePoses, worstFirst } from "./data.js";
import { addScaled, curveOf, scaled } from "./complex.js";
import { errorNote, makeShapeButton } from "./atoms.js";
import { makeChart } from "./charts.js";
import { byId, count, make, makeSvg, percent } from "./dom.js";
import { downloadTools } from "./download.js";
import { outline } from "./drawing.js";
import { on, state } from "./store.js";

const N_WORST = 8;
const inPercent = (value) => `${Number((100 * value).toPrecision(3))}\u202f%`;

function figure(title, note, drawing, name) {
  return make(
    "figure",
    { class: "panel" },
    make("div", { class: "panel-head" }, make("h3", { text: title }), name ? downloadTools(() => drawing, name) : ""),
    drawing,
    make("figcaption", { class: "hint", text: note }),
  );
}

function histogram() {
  const { edges, counts, rmse } = page.errors;
  const most = Math.max(...counts);
  const chart = makeChart({
    label: `Histogram of the errors of ${count(page.n_shapes)} shapes, root mean square ${percent(rmse)}`,
    x: [0, edges[edges.length - 1]],
    y: [0, most],
    xText: inPercent,
    yText: (value) => (Number.isInteger(value) ? count(value) : ""),
    xTitle: "error",
    yTitle: "shapes",
  });
  counts.forEach((value, i) => {
    const [left, right] = [chart.toX(edges[i]), chart.toX(edges[i + 1])];
    chart.svg.append(makeSvg("rect", { class: "bar-fill", x: left + 0.5, width: Math.max(0.5, right - left - 1), y: chart.toY(value), height: chart.toY(0) - chart.toY(value) }));
  });
  const line = (value, cls) => makeSvg("line", { class: cls, x1: chart.toX(value), x2: chart.toX(value), y1: chart.toY(0), y2: chart.toY(most) });
  const mark = line(0, "mark-selected");
  const text = makeSvg("text", { class: "mark-text" });
  chart.svg.append(line(rmse, "mark-mean"), mark, text);
  on(["selected"], () => {
    const at = chart.toX(errorOf(state.selected));
    mark.setAttribute("x1", at);
    mark.setAttribute("x2", at);
    const isRight = errorOf(state.selected) > 0.6 * edges[edges.length - 1];
    text.setAttribute("x", at + (isRight ? -5 : 5));
    text.setAttribute("y", chart.toY(most) + 9);
    text.setAttribute("text-anchor", isRight ? "end" : "start");
    text.textContent = "shape above";
  });
  return figure("Errors", `All ${count(page.n_shapes)} shapes. The dashed line is the root mean square, ${percent(rmse)}.`, chart.svg, "errors");
}

function lossCurve() {
  const losses = page.loss;
  const [low, high] = [Math.min(...losses), Math.max(...losses)];
  const chart = makeChart({
    label: `Error over the iterations of the fit, from ${percent(losses[0])} to ${percent(low)}`,
    x: [0, Math.max(1, losses.length - 1)],
    y: [Math.max(0, low - 0.25 * (high - low || low)), high + 0.05 * (high - low || high)],
    xText: String,
    yText: inPercent,
    xTitle: "dictionary on the way",
    yTitle: "error (RMSE)",
  });
  const points = losses.map((loss, i) => `${i ? "L" : "M"}${chart.toX(i).toFixed(2)} ${chart.toY(loss).toFixed(2)}`).join("");
  chart.svg.append(makeSvg("path", { class: "loss", d: points }));
  if (losses.length === 1) chart.svg.append(makeSvg("circle", { class: "loss-dot", cx: chart.toX(0), cy: chart.toY(losses[0]), r: 4 }));
  const last = losses[losses.length - 1];
  return figure("Learning", `From ${percent(losses[0])} to ${percent(last)}; the best dictionary on the way was kept.`, chart.svg, "learning");
}

function worst() {
  const buttons = worstFirst.slice(0, N_WORST).map((k) => {
    const sum = new Float64Array(2 * nCoordinates);
    for (const term of codeOf(k, nNonzero)) addScaled(sum, term.re, term.im, atoms[term.atom]);
    const turn = [shapePoses[2 * k], shapePoses[2 * k + 1]];
    const curves = [configuration(k), sum].map((z) => curveOf(scaled(...turn, z)));
    return makeShapeButton(k, errorNote(k), curves, [`${outline} original`, "curve sum"]);
  });
  return figure("Worst reconstructions", "Gray: the shape; blue: its reconstruction. Choose one to look closer.", make("div", { class: "strip" }, ...buttons), null);
}

/** Draws the figures. */
export function startErrors() {
  byId("figures").append(histogram(), lossCurve(), worst());
}
