// Colors of phases: a circle in the color space Oklab, whose lightness changes too, so that 0° and 180° differ in gray.

const TABLE = Array.from({ length: 360 }, (_, degree) => oklab(degree));

function oklab(degree) {
  const angle = (degree * Math.PI) / 180;
  const hue = angle + (262 * Math.PI) / 180;
  const [lightness, chroma] = [0.63 - 0.17 * Math.cos(angle), 0.125];
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
  const [l, m, s] = [
    lightness + 0.3963377774 * a + 0.2158037573 * b,
    lightness - 0.1055613458 * a - 0.0638541728 * b,
    lightness - 0.0894841775 * a - 1.291485548 * b,
  ].map((value) => value ** 3);
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const channels = linear.map((value) => {
    const inside = Math.min(1, Math.max(0, value));
    return Math.round(255 * (inside <= 0.0031308 ? 12.92 * inside : 1.055 * inside ** (1 / 2.4) - 0.055));
  });
  return `rgb(${channels.join(",")})`;
}

/** The color of a phase in radians. */
export function phaseColor(phase) {
  const degree = Math.round((phase * 180) / Math.PI) % 360;
  return TABLE[degree < 0 ? degree + 360 : degree];
}
