// Sizes in pixels that suit a matrix on the width there is. Needs text.js.

const MOST = 40; // more columns than these are painted as one picture
const FINGER = 24; // the least width and height of a cell where a finger points
const EVERY = [1, 2, 5, 10, 16, 20, 32, 50, 64, 100, 128]; // of how many columns one is labelled
const font = (size, family, weight = "") => `${weight} ${size}px ${family}`;

/**
 * Sizes for a matrix on `room` pixels of width, where the browser's usual text is 16 · unit pixels.
 *
 * view: size, rowLabels, columnLabels, widest (the number that needs most room), family (the font), group, touch
 */
function plan(view, room, unit) {
  const px = (n) => Math.round(n * unit);
  const rowFont = px(13);
  const widestRow = Math.max(0, ...view.rowLabels.map((t) => textWidth(t, font(rowFont, view.family, 600))));
  const rowWidth = Math.ceil(Math.min(widestRow + px(12), Math.max(px(48), room * 0.32)));
  const cells = planCells(view, room - rowWidth - 4, px);
  const head = planHead(view, cells.cell, px);
  const readsRow = cells.mode !== "numbers" && cells.cell >= px(12);
  return {
    ...cells, ...head, rowWidth,
    readHeight: readsRow ? Math.ceil(textWidth(view.widest, font(px(11), view.family, 600))) + px(6) : 0,
    rowFont: Math.min(rowFont, Math.max(px(10), cells.tall - 2)),
    rowEvery: Math.max(1, Math.ceil((10 * unit) / cells.tall)),
  };
}

/**
 * mode: "numbers" (a number in every cell), "plain" (colour alone), "tiny" (colour alone, cells touch);
 * cell and tall: width and height of a cell; gap: between two of them
 */
function planCells({ size: [height, width], widest, family, touch }, room, px) {
  const least = touch ? px(FINGER) : 0;
  const need = (size) => Math.ceil(textWidth(widest, font(size, family))) + px(size > 11 ? 10 : 7);
  let share = Math.floor((room - px(18)) / width);
  let numberFont = [px(13), px(12), px(11), px(10)].find((size) => need(size) <= share);
  if (!numberFont && width <= 6) numberFont = px(11);
  if (width <= MOST && numberFont) {
    const cell = Math.max(least, need(numberFont), Math.min(share, Math.max(px(48), need(px(13)))));
    const tall = Math.max(least, px(height > 16 ? 20 : 26), Math.min(cell, px(48), Math.floor(px(440) / height)));
    return { mode: "numbers", cell, tall, gap: 2, numberFont };
  }
  if (width <= MOST) {
    share = Math.floor((room - px(24)) / width);
    const cell = Math.max(least || px(12), Math.min(share, px(30), Math.max(Math.floor(px(560) / height), px(14))));
    return { mode: "plain", cell, tall: cell, gap: cell >= 16 ? 2 : 1, numberFont };
  }
  const cell = Math.max(least || 3, Math.min(share, px(12)));
  const tall = Math.max(least || px(12), Math.min(px(28), Math.floor(px(320) / height)));
  return { mode: "tiny", cell, tall, gap: 0, numberFont };
}

/**
 * angle: of the column labels, 0 for none; every: one of how many columns is labelled;
 * foot: from the cells to the labels; overhang: how far labels stand out on the right
 */
function planHead({ size: [, width], columnLabels, family, group }, cell, px) {
  const columnFont = Math.min(px(13), Math.max(px(11), cell - 4));
  const line = columnFont * 1.3;
  const labelWidths = columnLabels.map((t) => textWidth(t, font(columnFont, family, 600)));
  const longest = Math.max(0, ...labelWidths);
  let angle = 0;
  let every = 1;
  if (longest > cell - 4) {
    angle = [45, 60, 90].find((a) => cell * Math.sin((a * Math.PI) / 180) >= columnFont * (a === 90 ? 0.95 : 1.02)) ?? -1;
  }
  if (angle === -1) {
    angle = 0;
    every = Math.ceil((longest + px(14)) / cell);
    every = EVERY.find((n) => n >= every) ?? every;
    if (group) every = Math.ceil(every / group) * group; // a label begins a group
  }
  const sin = Math.sin((angle * Math.PI) / 180);
  const cos = Math.cos((angle * Math.PI) / 180);
  const foot = angle ? 3 + (line / 2) * cos : 4;
  let headHeight = Math.ceil(line + 6);
  let overhang = 4;
  const right = (j) => (width - j) * cell - cell / 2;
  if (angle) {
    headHeight = Math.ceil(longest * sin + (line / 2) * cos + foot + 2);
    labelWidths.forEach((w, j) => (overhang = Math.max(overhang, w * cos + (line / 2) * sin - right(j) + 3)));
  } else if (every > 1) {
    labelWidths.forEach((w, j) => j % every || (overhang = Math.max(overhang, w - right(j) + 3)));
  }
  return { columnFont, line, angle, every, headHeight, foot, overhang: Math.ceil(overhang) };
}
