// Where everything stands: panels in the picture, blocks and rows of columns in a panel, columns in a row.

const PAD = 10;
const NARROW = 600;
const THIN = 3; // pixels of a closed block where there is least room
const ROOMY = 35; // pixels a piece needs to be written flat

/** The panels of a picture of this size at time t, each with the room for its columns. */
function panelsOf(data, view, t) {
  const n = data.panels.length;
  const narrow = view.width < NARROW && !view.small;
  const gutter = view.small ? 18 : narrow ? 12 : 40;
  if (!narrow) {
    const shares = view.small ? inClip(data) : data.panels.map(() => 1);
    const unit = (view.width - gutter * (n - 1)) / shares.reduce((a, b) => a + b, 0);
    let x = -gutter;
    return data.panels.map((panel, i) => {
      const w = shares[i] * unit;
      x += gutter + (i ? shares[i - 1] * unit : 0);
      return withColumns(data, panel, { x, y: 0, w, h: view.height }, view.small);
    });
  }
  const begins = data.moments.find(({ step }) => step >= 0).start;
  const writing = between(t, begins, begins + 0.6);
  const writes = ({ parts }) => parts.at(-1).kind === "output";
  // What is at rest stands as low as it can: what is spoken of is then in sight below the card.
  const least = data.panels.map((panel) => 88 + THIN * panel.parts.length + (writes(panel) || view.rests ? 0 : 38));
  const works = data.panels.map((panel) => (view.rests ? panel.parts.length : n === 1 ? 1 : writes(panel) ? writing : 1 - writing));
  const sum = (list) => list.reduce((a, b) => a + b);
  const free = (view.height - gutter * (n - 1) - sum(least)) / sum(works);
  let y = view.height + gutter;
  return data.panels.map((panel, i) => {
    const h = least[i] + works[i] * free;
    y -= h + gutter; // what is read first stands below
    return withColumns(data, panel, { x: 0, y, w: view.width, h });
  });
}

/** How much of the width of a small picture each panel gets: more, where something happens. */
function inClip(data) {
  const moments = data.moments.slice(data.clip[0], data.clip[1] + 1);
  const works = (n) => moments.some((m) => m.panel === n || data.panels[m.panel].parts[m.part].memory === n);
  return data.panels.map((_, n) => (works(n) ? 1.35 : 1));
}

const withColumns = (data, panel, box, small) => ({ ...box, ...columnsOf(data, panel, box, small) });

/** How wide a column is, how many there is room for, and how much height is left for the blocks. */
function columnsOf(data, panel, box, small = false) {
  const inner = box.w - 2 * PAD;
  const d = panel.width;
  const across = d <= 64 ? 4 : d <= 512 ? 8 : 16; // cells of a column in a row
  const down = Math.ceil(d / across);
  const count = panel.tokens.length;
  const fit = Math.min(24, Math.max(1, Math.floor(inner / (2 * across + 1))));
  const shown = Math.min(count, fit);
  const pitch = Math.min(inner / shown, Math.max(66, inner / 9));
  const flat = pitch >= ROOMY;
  const pieceHeight = flat ? 25 : box.h < 330 && !small ? 46 : 56;
  const room = box.h - PAD - 18 - pieceHeight - 14;
  const bar = Math.max(13, Math.min(17, room / (panel.parts.length * 2.1))); // of an open block
  const crowded = room < 13 * panel.parts.length + 2 * (down + 6) + 60;
  const rows = 2 * (down + 6) + 66; // and room between them
  const thin = small || crowded ? Math.max(THIN, Math.min(7, (room - rows) / panel.parts.length)) : bar; // a closed block; where there is little room only an open one has a name
  const free = room - thin * panel.parts.length;
  const ch = Math.max(1, Math.min(4, Math.floor((free - Math.max(66, 0.3 * free)) / 2 / down))); // two rows, and room between
  const cw = Math.max(1, Math.min(ch + 1, Math.floor((pitch - 1) / across)));
  return {
    ...{ inner, across, down, count, shown, pitch, flat, bar, thin, cw, ch, room },
    tile: { w: across * cw, h: down * ch },
    left: box.x + PAD + (inner - shown * pitch) / 2,
    pieces: { y: box.y + box.h - PAD - pieceHeight, h: pieceHeight },
    base: box.y + box.h - PAD - pieceHeight - 8,
  };
}

/**
 * Where the blocks (y, h) and the rows of columns (y) of a panel are while these are open. Blocks lie bottom to top;
 * `below` pixels are left free under them.
 */
function stacked(box, open, below) {
  const rows = open.levels.map((visible) => visible * (box.tile.h + 6));
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  const free = box.room - below - box.thin * rows.length - sum(rows);
  const rest = Math.max(0, 1 - sum(open.parts)) / rows.length;
  const blocks = [];
  const levels = [];
  let y = box.base - below;
  open.parts.forEach((part, n) => {
    const h = box.thin + free * (part + rest);
    y -= h;
    blocks.push({ y, h });
    y -= rows[n];
    levels.push({ y: y + 3 });
  });
  return { blocks, levels };
}

const ARROWS = 160; // pixels
const CLOSE = 300; // where the panel's name, “memory” and the arrows would not fit side by side, these say no “more”

/** How much of its upper right corner a panel's two arrows take: they are there if it has room for some pieces only. */
function arrowsOf(box) {
  if (box.count === box.shown || box.w < 200) return 0; // what is said of a small one needs the room
  return box.w < CLOSE ? ARROWS / 2 : ARROWS;
}

/** The first token that a panel shows at time t, if it has room for some only: the window follows what is spoken of. */
function windowAt(data, view, panel, box, t) {
  const last = Math.max(0, box.count - box.shown);
  if (!last) return 0;
  if (view.windows?.[panel] != null) return Math.min(last, Math.max(0, view.windows[panel]));
  const at = momentAt(data, t);
  const first = (n) => {
    const focus = focusIn(data, view, panel, n);
    return Math.min(last, Math.max(0, focus - Math.floor(box.shown / 2)));
  };
  const u = between((t - data.moments[at].start) / data.moments[at].seconds, 0, 0.4);
  return mixed(first(Math.max(0, at - 1)), first(at), u);
}

/** The token of a panel that a moment is about. */
function focusIn(data, view, panel, n) {
  for (let i = n; i >= 0; i--) {
    const moment = data.moments[i];
    if (moment.panel === panel) return rowIn(moment);
    const part = data.panels[moment.panel].parts[moment.part];
    if (part.memory === panel && moment.focus >= 0) {
      const weights = data.tensors[part.weights];
      if (!weights) continue; // not of this clip
      const columns = data.panels[panel].tokens.map((_, c) => weightOf(weights, headOf(view, moment), moment.focus, c));
      return columns.indexOf(Math.max(...columns));
    }
  }
  return 0;
}

/** The row that a moment is about: the one that is spoken of, or else the one that is written. */
const rowIn = ({ step, focus }) => Math.max(0, focus >= 0 ? focus : step);

/** The head shown in a moment: the one that was chosen for its block, or the one that the story speaks of. */
const headOf = (view, moment) => view.heads?.[`${moment.panel}.${moment.part}`] ?? moment.head;
