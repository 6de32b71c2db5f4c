// A picture cut into patches; and its patches in a row, with lines to the row that looks at them.

const INK_LEVELS = 35;
const SHEET_SIDE = 224; // pixels of the largest picture
const FAN_LINES = 74; // pixels between the row that looks and the columns
const THUMB = 24;
const NUMBERED = 30; // pixels of the smallest patch that has room for its number

/** The pixels with ink of a part of the picture, as squares of `cell` pixels from (x0, y0) on. */
function inked(pen, data, x0, y0, cell, [row0, column0], [high, wide]) {
  for (let r = 0; r < high; r++) {
    for (let c = 0; c < wide; c++) {
      const ink = parseInt(data.ink[(row0 + r) * data.size + column0 + c], 36) / INK_LEVELS;
      if (ink) pen.box(x0 + c * cell, y0 + r * cell, cell + 0.2, cell + 0.2, "ink").style.opacity = round(ink * 100) / 100;
    }
  }
}

const SHEET = {
  side: (width) => Math.min(SHEET_SIDE, width),

  height(data, width) {
    return 22 + (this.side(width) / data.side) * data.down + (data.note ? 20 : 4);
  },

  draw(pen, data, width) {
    const side = this.side(width);
    const [x0, y0, patch] = [(width - side) / 2, 22, side / data.side];
    const high = patch * data.down;
    if (data.title) pen.fitted(width / 2, 13, data.title, width, "title");
    pen.box(x0, y0, side, high, "paper");
    data.weights.forEach((weight, n) => {
      pen.box(x0 + (n % data.side) * patch, y0 + Math.floor(n / data.side) * patch, patch, patch, "looked").style.opacity = round(85 * weight) / 100;
    });
    inked(pen, data, x0, y0, side / data.size, [0, 0], [data.ink.length / data.size, data.size]);
    const across = (at) => `M${round(x0)} ${round(y0 + at * patch)}h${side}`;
    const upwards = (at) => `M${round(x0 + at * patch)} ${y0}v${round(high)}`;
    const upTo = (n) => Array.from({ length: n + 1 }, (_, at) => at);
    if (patch > NUMBERED && !data.whole) {
      upTo(data.down * data.side - 1).forEach((n) => {
        const [x, y] = [x0 + (n % data.side) * patch, y0 + Math.floor(n / data.side) * patch];
        pen.box(x, y, patch, patch, data.hidden[n] > 0.5 ? "patch gone" : "patch");
        pen.text(x + 4, y + 12, `${n + 1}`, "tick over");
      });
    } else if (!data.whole) pen.put("path", { d: [...upTo(data.down).map(across), ...upTo(data.side).map(upwards)].join(""), class: "patch" });
    for (const start of data.windows) pen.put("path", { d: across(start) + upwards(start), class: "window" });
    if (data.marked) pen.box(x0 + ((data.marked - 1) % data.side) * patch, y0 + Math.floor((data.marked - 1) / data.side) * patch, patch, patch, "outlined");
    if (data.note) pen.fitted(width / 2, y0 + high + 15, data.note, width, "note");
  },
};

const FAN = {
  rows: (data) => Math.ceil(Math.max(...data.columns.map((column) => column.length)) / ACROSS),

  height(data) {
    return 22 + CARD + FAN_LINES + this.rows(data) * CELL + THUMB + 8 + 18 + (data.note ? 20 : 0);
  },

  draw(pen, data, width, palette) {
    const slot = width / data.weights.length;
    const thumb = Math.min(THUMB, slot - 3);
    const foot = 22 + CARD;
    const head = foot + FAN_LINES;
    const picture = head + this.rows(data) * CELL + 6;
    const inPatch = data.size / data.side;
    if (data.title) pen.fitted(width / 2, 13, data.title, width, "title");
    data.weights.forEach((weight, n) => {
      const x = slot * (n + 0.5);
      const thick = { "stroke-width": round(0.6 + (THICKEST - 0.6) * weight), opacity: data.hidden[n] > 0.5 ? 0 : round(0.25 + 0.75 * weight) };
      const half = (foot + head) / 2;
      pen.put("path", { d: `M${round(width / 2)} ${foot}C${round(width / 2)} ${half} ${round(x)} ${half} ${round(x)} ${head - 3}`, class: "line query", ...thick });
    });
    pen.box(width / 2 - 34, 22, 68, CARD, "card query strong", 6);
    pen.text(width / 2, 42, data.top, "word", "middle");
    data.weights.forEach((_, n) => {
      const [x, gone] = [slot * (n + 0.5), data.hidden[n] > 0.5];
      data.columns[n].forEach((value, k) => {
        const cell = pen.box(x + ((k % ACROSS) - ACROSS / 2) * CELL, head + Math.floor(k / ACROSS) * CELL, CELL, CELL, "cell");
        cell.style.fill = palette.scales.signed.css[Math.max(0, levelOf(value, "signed", data.limit))];
        cell.style.opacity = gone ? 0.15 : 1;
      });
      pen.box(x - thumb / 2, picture, thumb, thumb, "paper");
      inked(pen, data, x - thumb / 2, picture, thumb / inPatch, [Math.floor(n / data.side) * inPatch, (n % data.side) * inPatch], [inPatch, inPatch]);
      pen.box(x - thumb / 2, picture, thumb, thumb, gone ? "patch gone" : "patch");
      pen.text(x, picture + thumb + 13, `${n + 1}`, gone ? "tick gone" : "tick", "middle");
    });
    if (data.note) pen.fitted(width / 2, picture + thumb + 32, data.note, width, "note");
  },
};
