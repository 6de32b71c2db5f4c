// The figure that is downloaded: a matrix as rectangles, lines and texts. Needs colour.js, text.js
// and layout.js.

const EDGE = 20; // pixels around the figure

/** Shapes, collected one after the other. */
class Shapes {
  constructor(family, palette) {
    this.list = [];
    this.family = family;
    this.palette = palette;
    this.right = 0; // how far to the right lines of text reach
  }

  rect(x, y, w, h, fill, { round = 0, stroke = null, line = 0 } = {}) {
    this.list.push({ kind: "rect", x, y, w, h, fill, round, stroke, line });
  }

  text(x, y, words, size, fill, options = {}) {
    this.list.push({ kind: "text", x, y, text: words, size, fill, anchor: "start", weight: 400, turn: 0, ...options });
  }

  hatch(x, y, w, h) {
    const lines = [];
    for (let d = 3; d < w + h; d += 7) {
      lines.push([x + Math.max(0, d - h), y + Math.min(d, h), x + Math.min(d, w), y + Math.max(0, d - w)]);
    }
    this.list.push({ kind: "lines", lines, stroke: this.palette.hatch });
  }

  width(words, size, weight = 400) {
    return textWidth(words, font(size, this.family, weight));
  }
}

/** The whole figure, as wide as its content wants. */
function figureOf(view, axes) {
  const { data, palette, family } = view;
  const [height, width] = view.size;
  const s = plan(view, 960, 1);
  const shapes = new Shapes(family, palette);
  shapes.right = s.rowWidth + width * s.cell + s.overhang;
  let y = EDGE;
  const line = (words, size, weight, fill) => {
    if (!words) return;
    shapes.text(EDGE, y + size * 0.7, words, size, fill, { weight });
    shapes.right = Math.max(shapes.right, shapes.width(words, size, weight));
    y += size * 1.6;
  };
  line(data.title, 16, 600, palette.text);
  line(data.how_to_read, 13, 400, palette.muted);
  line(axes, 12, 400, palette.muted);
  const x = EDGE + s.rowWidth;
  y += s.headHeight;
  drawLabels(shapes, view, s, x, y);
  drawCells(shapes, view, s, x, y);
  y += height * s.tall + 20;
  drawLegend(shapes, view, x, y);
  return {
    width: Math.ceil(shapes.right + 2 * EDGE), height: Math.ceil(y + EDGE), ground: palette.ground, family,
    shapes: shapes.list,
  };
}

function drawLabels(shapes, { data, palette, rowLabels, columnLabels, chosen }, s, x, y) {
  const ink = (on) => (on ? palette.text : palette.muted);
  const weight = (on) => (on ? 600 : 400);
  const left = !s.angle && s.every > 1;
  data.columns.forEach((_, j) => {
    if (j % s.every) return;
    const on = j === chosen?.[1];
    shapes.text(x + (j + 0.5) * s.cell, y - s.foot - (s.angle ? 0 : s.line / 2), columnLabels[j], s.columnFont, ink(on), {
      turn: -s.angle, anchor: s.angle || left ? "start" : "middle", weight: weight(on),
    });
  });
  data.rows.forEach((_, i) => {
    if (i % s.rowEvery) return;
    const on = i === chosen?.[0];
    shapes.text(x - 8, y + (i + 0.5) * s.tall, rowLabels[i], s.rowFont, ink(on), { anchor: "end", weight: weight(on) });
  });
}

function drawCells(shapes, { data, palette, values, hidden, size: [height, width], chosen }, s, x, y) {
  const scale = palette.scales[data.scale];
  values.forEach((value, k) => {
    const [i, j] = [Math.floor(k / width), k % width];
    const [cx, cy, w, h] = [x + j * s.cell + s.gap / 2, y + i * s.tall + s.gap / 2, s.cell - s.gap, s.tall - s.gap];
    if (hidden?.[k]) {
      shapes.hatch(cx, cy, w, h);
      return;
    }
    const level = levelOf(value, data.scale, data.limit);
    shapes.rect(cx, cy, w, h, level < 0 ? palette.neutral : scale.css[level], { round: s.gap });
    if (s.mode === "numbers") {
      const ink = level < 0 ? palette.text : scale.ink[level];
      shapes.text(cx + w / 2, cy + h / 2, numeral(value, data.digits), s.numberFont, ink, { anchor: "middle" });
    }
  });
  for (let j = data.group; data.group && j < width; j += data.group) {
    shapes.rect(x + j * s.cell - 1, y - 4, 2, height * s.tall + 4, palette.text);
  }
  if (chosen) {
    const ring = { round: s.gap + 1, stroke: "#E69F00", line: 3 };
    shapes.rect(x + chosen[1] * s.cell, y + chosen[0] * s.tall, s.cell, s.tall, "none", ring);
  }
}

function drawLegend(shapes, { data, palette, hidden }, x, y) {
  const scale = palette.scales[data.scale];
  const [low, high] = limits(data);
  const start = x + shapes.width(low, 12) + 8;
  shapes.text(x, y, low, 12, palette.muted);
  for (let i = 0; i < 64; i++) shapes.rect(start + i * 2, y - 5, 2.2, 10, scale.css[Math.round((i / 63) * LEVELS)]);
  shapes.text(start + 136, y, high, 12, palette.muted);
  let end = start + 136 + shapes.width(high, 12);
  if (hidden?.some(Boolean)) {
    shapes.hatch(end + 20, y - 6, 12, 12);
    shapes.text(end + 38, y, data.hatched, 12, palette.muted);
    end += 38 + shapes.width(data.hatched, 12);
  }
  shapes.right = Math.max(shapes.right, end - EDGE);
}
