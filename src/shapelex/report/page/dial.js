// The weights of one moment as arrows in the complex plane, without handles.
import { makeSvg } from "./dom.js";
import { phaseColor } from "./phase_color.js";

const REACH = 78;
const HEAD = 7;

/** An empty dial: its drawing, and a function that shows weights, the longest of which reaches the rim at `limit`. */
export function makeDial() {
  const arrows = makeSvg("g", {});
  const rim = makeSvg("text", { class: "grid-text", x: REACH * Math.SQRT1_2 + 4, y: REACH * Math.SQRT1_2 + 6 });
  const drawing = makeSvg(
    "svg",
    { class: "dial", viewBox: "-100 -100 200 200", role: "img", "aria-label": "Weights of this moment as arrows" },
    makeSvg("path", { class: "grid", d: `M${-REACH} 0H${REACH}M0 ${-REACH}V${REACH}` }),
    makeSvg("circle", { class: "grid", r: REACH }),
    makeSvg("circle", { class: "grid", r: REACH / 2 }),
    rim,
    arrows,
  );
  const show = (terms, limit) => {
    rim.textContent = String(limit);
    arrows.replaceChildren(
      ...terms.flatMap(({ atom, re, im }) => {
        const [x, y] = [(REACH * re) / limit, (-REACH * im) / limit];
        const length = Math.hypot(x, y) || 1e-9;
        const [ux, uy] = [x / length, y / length];
        const back = Math.max(0, length - HEAD);
        const [bx, by] = [x - HEAD * ux, y - HEAD * uy];
        const fill = phaseColor(Math.atan2(im, re));
        return [
          makeSvg("line", { class: "dial-line", stroke: fill, x2: ux * back, y2: uy * back }),
          makeSvg("path", { fill, d: `M${x} ${y}L${bx - 3.2 * uy} ${by + 3.2 * ux}L${bx + 3.2 * uy} ${by - 3.2 * ux}Z` }),
          makeSvg("text", { class: "dial-text", x: x + 9 * ux, y: y + 9 * uy, text: String(atom) }),
        ];
      }),
    );
  };
  return { drawing, show };
}
