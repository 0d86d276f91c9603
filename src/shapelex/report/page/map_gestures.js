// What pointer, fingers and keyboard do on the map.
import { drawDots, drawMarks, screen, view, zoomBy } from "./map_drawing.js";
import { state } from "./store.js";
import { isShown, setCondition, shapesWhere } from "./subset.js";
import { nShapes } from "./data.js";
import { announce, count } from "./dom.js";

const REACH = 24; // pixels from the pointer within which a dot answers
const FAR = 4; // pixels that make a press a drag
let isLasso = false;
let area, tellLasso;

/** The shape near a place of the screen, or −1. */
function nearestTo(x, y) {
  let best = -1;
  let least = REACH * REACH;
  for (let k = 0; k < nShapes; k++) {
    const away = (screen[2 * k] - x) ** 2 + (screen[2 * k + 1] - y) ** 2;
    if (away < least && isShown(k)) [best, least] = [k, away];
  }
  return best;
}

/** The next shape from the selected one in a direction of the map. */
function neighbor(dx, dy) {
  const { selected } = state;
  let best = selected;
  let least = Infinity;
  for (let k = 0; k < nShapes; k++) {
    if (!isShown(k)) continue;
    const [x, y] = [screen[2 * k] - screen[2 * selected], screen[2 * k + 1] - screen[2 * selected + 1]];
    const along = x * dx + y * dy;
    const across = Math.abs(x * dy - y * dx);
    if (along <= 0.5 || across > along) continue;
    const cost = along + 2 * across;
    if (cost < least) [best, least] = [k, cost];
  }
  return best;
}

const DIRECTIONS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function at(event) {
  const box = area.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/** Whether a place lies inside a polygon, by the number of edges to its right. */
function isInside(polygon, x, y) {
  let inside = false;
  for (let i = 0, j = polygon.length - 2; i < polygon.length; j = i, i += 2) {
    const [ax, ay, bx, by] = [polygon[i], polygon[i + 1], polygon[j], polygon[j + 1]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}

/** Shows only the shapes inside the lasso, of those that are shown. */
function closeLasso() {
  const polygon = view.lasso;
  view.lasso = null;
  drawMarks();
  if (!polygon || polygon.length < 6) return;
  const inside = new Set(shapesWhere((k) => isShown(k) && isInside(polygon, screen[2 * k], screen[2 * k + 1])));
  setLasso(false);
  if (!inside.size) return announce("No shape lies inside the lasso.");
  setCondition("lasso", `lasso: ${count(inside.size)} shapes`, (k) => inside.has(k));
  return announce(`${count(inside.size)} shapes lie inside the lasso.`);
}

/** Whether dragging draws a lasso. */
export function setLasso(value) {
  isLasso = value;
  view.lasso = null;
  tellLasso(value);
  setTouchAction();
}

/** One finger scrolls the page as long as the map has its full extent; then it moves the map. */
export function setTouchAction() {
  area.style.touchAction = isLasso || view.zoom > 1 ? "none" : "pan-y";
}

/** Makes the map answer; `hover` and `choose` are told shapes, `told` whether the lasso is on. */
export function listenOnMap(element, hover, choose, told) {
  [area, tellLasso] = [element, told];
  const fingers = new Map(); // places of the pointers that are down
  let grabbed = null; // where a drag began, and where the map was
  let moved = false;
  const grab = () => {
    const places = [...fingers.values()];
    const [x, y] = [0, 1].map((axis) => places.reduce((sum, place) => sum + place[axis], 0) / places.length);
    const spread = places.length > 1 ? Math.hypot(places[0][0] - places[1][0], places[0][1] - places[1][1]) : 0;
    return { x, y, spread };
  };
  area.addEventListener("pointerdown", (event) => {
    if (event.button > 0 || fingers.size === 2) return;
    if (!fingers.size) moved = false;
    fingers.set(event.pointerId, at(event));
    grabbed = grab();
    if (fingers.size === 2) {
      moved = true;
      view.lasso = null;
    } else if (isLasso) view.lasso = at(event);
  });
  area.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) {
      if (event.pointerType === "mouse") hover(nearestTo(...at(event)));
      return;
    }
    fingers.set(event.pointerId, at(event));
    const now = grab();
    const [dx, dy] = [now.x - grabbed.x, now.y - grabbed.y];
    if (!moved && Math.hypot(dx, dy) < FAR) return;
    if (!moved) area.setPointerCapture(event.pointerId);
    moved = true;
    hover(-1);
    if (view.lasso) {
      view.lasso.push(...at(event));
      requestAnimationFrame(drawMarks);
      return;
    }
    if (fingers.size < 2 && view.zoom === 1) return;
    view.x += dx;
    view.y += dy;
    if (now.spread && grabbed.spread) zoomBy(now.spread / grabbed.spread, now.x, now.y);
    else requestAnimationFrame(drawDots);
    setTouchAction();
    grabbed = now;
  });
  const drop = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    if (fingers.size) grabbed = grab();
    else if (event.type === "pointerup" && view.lasso) closeLasso();
    else if (view.lasso) setLasso(false);
  };
  area.addEventListener("pointerup", drop);
  area.addEventListener("pointercancel", drop);
  // Two fingers are for the map, not for the page.
  const keep = (event) => event.touches.length > 1 && event.preventDefault();
  for (const kind of ["touchstart", "touchmove"]) area.addEventListener(kind, keep, { passive: false });
  area.addEventListener("pointerleave", () => hover(-1));
  area.addEventListener("click", (event) => {
    if (moved || isLasso) return;
    const k = nearestTo(...at(event));
    if (k >= 0) choose(k);
  });
  area.addEventListener(
    "wheel",
    (event) => {
      // Plain scrolling stays with the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      hover(-1);
      zoomBy(Math.exp(-event.deltaY / 300), ...at(event));
      setTouchAction();
    },
    { passive: false },
  );
  area.addEventListener("keydown", (event) => {
    const direction = DIRECTIONS[event.key];
    if (direction) choose(neighbor(direction[0], direction[1]));
    else if (event.key === "+" || event.key === "=") zoomBy(1.5);
    else if (event.key === "-") zoomBy(1 / 1.5);
    else if (event.key === "Escape" && isLasso) setLasso(false);
    else return;
    event.preventDefault();
  });
  setTouchAction();
}
