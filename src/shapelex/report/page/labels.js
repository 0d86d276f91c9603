// Places for texts beside points, so that they cover neither each other nor other texts.

const DIRECTIONS = [0, 1, -1, 2, -2, 3, -3, 4].map((step) => (step * Math.PI) / 4);
const FAR = [0, 5, 10, 16, 23];

/** The area that two boxes {x, y, width, height} share; x and y are their middles. */
function overlap(a, b) {
  const across = (a.width + b.width) / 2 - Math.abs(a.x - b.x);
  const down = (a.height + b.height) / 2 - Math.abs(a.y - b.y);
  return across > 0 && down > 0 ? across * down : 0;
}

/** How much of a line from the origin to a tip lies in a box, of 16 points on it. */
function crossing(box, tip) {
  const [x, y] = tip;
  let inside = 0;
  for (let i = 1; i <= 16; i++) if (Math.abs((i / 16) * x - box.x) < box.width / 2 && Math.abs((i / 16) * y - box.y) < box.height / 2) inside++;
  return inside;
}

/**
 * Boxes for the texts of arrows from the origin, one after the other: each in the first place around the tip of its arrow
 * that is free, where possible straight ahead and near, else where it covers least.
 * @param {{tip: number[], width: number, height: number}[]} texts
 * @param {object[]} taken boxes of other texts
 * @param {number} reach half the width and height of the drawing
 */
export function placeTexts(texts, taken, reach) {
  const boxes = [...taken];
  return texts.map(({ tip, width, height }) => {
    const ahead = Math.atan2(tip[1], tip[0]);
    let best = null;
    for (const far of FAR) {
      for (const turn of DIRECTIONS) {
        const [ux, uy] = [Math.cos(ahead + turn), Math.sin(ahead + turn)];
        // The box just touches a circle around the tip.
        const away = 3 + far + Math.min(width / 2 / Math.max(Math.abs(ux), 1e-9), height / 2 / Math.max(Math.abs(uy), 1e-9));
        const box = { x: tip[0] + away * ux, y: tip[1] + away * uy, width, height };
        const outside = Math.max(0, Math.abs(box.x) + width / 2 - reach) + Math.max(0, Math.abs(box.y) + height / 2 - reach);
        const covered = boxes.reduce((sum, other) => sum + overlap(box, other), 0);
        const lines = texts.reduce((sum, other) => sum + crossing(box, other.tip), 0);
        const cost = 100 * covered + 20 * outside + 3 * lines + far + 2 * Math.abs(turn);
        if (!best || cost < best.cost) best = { cost, box };
      }
    }
    boxes.push(best.box);
    return best.box;
  });
}
