// Colours of the theme and the colour scales, in OKLab: equal steps in value look like equal steps in colour.

const LEVELS = 256; // a scale has LEVELS + 1 colours, so that a signed scale has one exactly in the middle
const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

/** [r, g, b], 0 to 255, of any colour CSS can write. */
function parseColour(text) {
  pen.canvas.width = pen.canvas.height = 1;
  pen.fillStyle = text;
  const [, hex] = pen.fillStyle.match(/^#(.{6})$/) ?? []; // as it tells most of them
  if (hex) return [0, 2, 4].map((n) => parseInt(hex.slice(n, n + 2), 16));
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

const cssColour = ([r, g, b]) => `rgb(${r},${g},${b})`;
const pixelOf = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0; // as a canvas keeps it
const linear = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const gamma = (v) => Math.round(255 * Math.min(1, Math.max(0, v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055)));
const mix = (a, b, t) => a.map((v, i) => v + (b[i] - v) * t);

function toOklab(rgb) {
  const [r, g, b] = rgb.map(linear);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function fromOklab([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** OKLab of a lightness 0 to 1, a chroma and a hue in degrees. */
function lch(L, chroma, hue) {
  const angle = (hue * Math.PI) / 180;
  return [L, chroma * Math.cos(angle), chroma * Math.sin(angle)];
}

const luminance = (rgb) => 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);

/** WCAG contrast of two colours, 1 to 21. */
function contrast(a, b) {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** `n` + 1 colours along the curve from `start` to `end` that bends towards `via`, equally far apart in OKLab. */
function ramp(start, via, end, n) {
  const fine = 1024;
  const at = (t) => start.map((v, i) => (1 - t) ** 2 * v + 2 * t * (1 - t) * via[i] + t * t * end[i]);
  const points = Array.from({ length: fine + 1 }, (_, i) => at(i / fine));
  const along = [0];
  for (let i = 1; i <= fine; i++) along.push(along[i - 1] + Math.hypot(...points[i].map((v, k) => v - points[i - 1][k])));
  const colours = [];
  for (let i = 0, j = 0; i <= n; i++) {
    while (j < fine && along[j] < (along[fine] * i) / n) j++;
    colours.push(fromOklab(points[j]));
  }
  return colours;
}

/** A scale: LEVELS + 1 colours, and for each the ink that keeps 4.5 to 1 on it. */
function makeScale(colours, inks) {
  const ink = colours.map((colour) => {
    const good = inks.find((i) => contrast(i, colour) >= 4.55);
    return good ?? inks.slice(-2).sort((a, b) => contrast(b, colour) - contrast(a, colour))[0];
  });
  return {
    rgb: colours,
    css: colours.map(cssColour),
    ink: ink.map(cssColour),
    pixels: Uint32Array.from(colours, pixelOf),
  };
}

const palettes = new Map();

/** The colours for the theme that `element` stands in. Computed once for each theme. */
function paletteOf(element) {
  const style = getComputedStyle(element);
  const read = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
  const id = [read("--st-background-color", "#ffffff"), read("--st-text-color", "#31333f")].join("|");
  if (palettes.has(id)) return palettes.get(id);

  const [ground, text] = id.split("|").map(parseColour);
  const dark = luminance(ground) < luminance(text);
  const muted = mix(text, ground, 0.28).map(Math.round);
  const inks = [muted, text, [255, 255, 255], [0, 0, 0]];
  const base = toOklab(ground);
  const strong = dark ? lch(0.94, 0.05, 225) : toOklab([8, 48, 107]);
  const faint = mix(base, strong, dark ? 0.07 : 0.035);
  const weight = ramp(faint, lch((faint[0] + strong[0]) / 2, dark ? 0.26 : 0.18, dark ? 252 : 246), strong, LEVELS);
  const blue = dark ? lch(0.8, 0.13, 240) : lch(0.44, 0.14, 255);
  const orange = dark ? lch(0.8, 0.14, 65) : lch(0.52, 0.135, 52);
  const middle = mix(base, toOklab(text), dark ? 0.06 : 0.03);
  const arm = (end, hue) => {
    const via = lch((middle[0] + end[0]) / 2, 0.13, hue);
    return ramp(middle, via, end, LEVELS / 2);
  };
  const signed = [...arm(blue, 248).reverse(), ...arm(orange, 62).slice(1)];
  const neutral = mix(ground, text, 0.1).map(Math.round);
  const palette = {
    id,
    dark,
    ground: cssColour(ground),
    text: cssColour(text),
    muted: cssColour(muted),
    border: cssColour(mix(ground, text, 0.18).map(Math.round)),
    neutral: cssColour(neutral),
    neutralPixel: pixelOf(neutral),
    hatch: cssColour(mix(ground, text, 0.24).map(Math.round)),
    scales: { weight: makeScale(weight, inks), signed: makeScale(signed, inks) },
  };
  palette.scales.positive = palette.scales.weight;
  palettes.set(id, palette);
  return palette;
}

/** Index into a scale of `value`; -1 for NaN and infinities. */
function levelOf(value, kind, limit) {
  if (!Number.isFinite(value)) return -1;
  const t = kind === "signed" ? 0.5 + value / (2 * limit) : value / limit;
  return Math.round(LEVELS * Math.min(1, Math.max(0, t)));
}
