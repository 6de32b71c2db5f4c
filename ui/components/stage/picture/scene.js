// What is drawn at a time. All of it follows from the time alone: playing, stepping back and scrubbing are one thing.

const FAINTEST = 0.01; // weights below it have no line

/**
 * The picture at time t: lists of things with their places, in CSS pixels.
 *
 * view: width, height; heads: chosen heads by "panel.part"; focus: { panel, token } under the pointer; windows: the first
 * token shown of each panel, where someone has moved it; widthOf: how wide a piece is when it is written
 */
function sceneAt(data, t, view) {
  const n = momentAt(data, t);
  const moment = data.moments[n];
  const u = (t - moment.start) / moment.seconds;
  const boxes = panelsOf(data, view, t);
  const scene = { t, n, moment, u, boxes, blocks: [], pieces: [], tiles: [], slots: [], lines: [], beams: [], bars: [], pipes: [] };
  boxes.forEach((box, panel) => {
    const open = openness(data, panel, t);
    const below = panel === data.moments[0].panel ? idsShown(data, t) * (box.flat ? 12 : 34) : 0;
    Object.assign(box, stacked(box, open, below), { open, first: windowAt(data, view, panel, box, t), active: moment.panel === panel });
    addBlocks(scene, data, panel);
    addPieces(scene, data, view, panel);
    addColumns(scene, data, panel);
  });
  const works = [n - 1, n].filter((one) => one >= 0);
  for (const one of works) addWork(scene, data, view, one);
  addPipes(scene, data);
  addBars(scene, data);
  scene.written = writtenAt(data, t);
  if (moment.kind === "near") comeNear(scene, data, view);
  return scene;
}

/** A block from near; once the picture is there, nothing else is seen. */
function comeNear(scene, data, view) {
  scene.near = nearAt(data, scene.moment, scene.u, view);
  scene.camera = approach(scene, scene.u, view);
  const { panel, part, focus } = scene.moment;
  const { weights } = data.panels[panel].parts[part];
  const headless = ["norm", "heads", "widen"].includes(scene.near.view);
  scene.attention = headless ? undefined : { panel, part, tensor: weights, head: scene.near.head, row: focus };
  if (scene.near.alpha === 1) for (const list of ["tiles", "slots", "lines", "beams", "bars", "pieces", "pipes"]) scene[list] = [];
}

/** The middle of a token's column, and whether the window shows it. */
function columnX(box, token) {
  return box.left + (token - box.first + 0.5) * box.pitch;
}
const inWindow = (box, token) => token > box.first - 0.5 && token < box.first + box.shown - 0.5;

function addBlocks(scene, data, panel) {
  const box = scene.boxes[panel];
  data.panels[panel].parts.forEach((part, n) => {
    const { y, h } = box.blocks[n];
    const works = scene.moment.panel === panel && scene.moment.part === n && scene.moment.kind !== "pieces";
    scene.blocks.push({ panel, part: n, x: box.x + PAD, y, w: box.inner, h, open: box.open.parts[n], works });
  });
}

/** Whether a token is there at time t: in the panel that writes, one after the other. */
function birthOfPiece(data, panel, token) {
  if (panel === 0 && token < data.given) return { n: 0, from: 0, to: 0 };
  const step = stepOf(data, panel, token);
  if (step < 0) return { n: 0, from: 0, to: 0 };
  const n = data.moments.findIndex((m) => m.panel === panel && m.step === step && m.kind !== "pieces");
  const quick = data.moments[n]?.kind === "write";
  return token < data.given ? { n, from: 0, to: 0.3 } : { n, from: 0, to: quick ? 0.25 : 0.55, flies: true };
}

function addPieces(scene, data, view, panel) {
  const box = scene.boxes[panel];
  const { tokens, ids } = data.panels[panel];
  const cutting = data.moments[0].panel === panel ? between(scene.t / data.moments[0].end, 0.15, 0.75) : 1;
  const joined = cutting < 1 ? joinedX(box, tokens, view) : null;
  const id = data.moments[0].panel === panel ? idsShown(data, scene.t) : 0;
  tokens.forEach((text, token) => {
    if (!inWindow(box, token)) return;
    const { n, from, to, flies } = birthOfPiece(data, panel, token);
    if (n === undefined || n < 0) return;
    const { start, seconds } = data.moments[n];
    const age = to ? between((scene.t - start) / seconds, from, to) : 1;
    if (age <= 0) return;
    let x = columnX(box, token);
    let y = box.pieces.y;
    if (joined) x = mixed(joined.middles[token], x, cutting);
    if (flies && age < 1) {
      const top = box.blocks.at(-1);
      const from = { x: box.x + 0.3 * box.w, y: top.y + top.h / 2 };
      const side = { x: box.x + box.w - 8, y: (top.y + y) / 2 };
      x = (1 - age) ** 2 * from.x + 2 * age * (1 - age) * side.x + age ** 2 * x;
      y = (1 - age) ** 2 * from.y + 2 * age * (1 - age) * side.y + age ** 2 * y;
    }
    const w = Math.max(14, box.pitch - (box.flat ? 6 : 1));
    const cut = panel === data.moments[0].panel ? cutting : 1;
    scene.pieces.push({ panel, token, text, x: x - w / 2, y, w, h: box.pieces.h, alpha: flies ? Math.min(1, 3 * age) : age, frame: cut, id: ids[token], showId: id, flat: box.flat, small: joined?.fit ?? 1 });
  });
}

/** How much of the pieces' ids is seen at time t: they come when the text is cut, and go when columns take their place. */
function idsShown(data, t) {
  const later = data.moments.find((m) => m.kind === "block");
  return between(t / data.moments[0].end, 0.6, 0.9) * (1 - between(t, later.start + 0.2, later.start + 0.6));
}

/** Middles of the pieces while they are still one text. */
function joinedX(box, tokens, { widthOf = (text) => 7.4 * [...text].length }) {
  const widths = tokens.map((text) => widthOf(text) + 4);
  const total = widths.reduce((a, b) => a + b, 0);
  const fit = Math.min(1, box.inner / total);
  let x = box.x + PAD + (box.inner - fit * total) / 2;
  const middles = widths.map((w) => {
    x += fit * w;
    return x - (fit * w) / 2;
  });
  return { fit, middles };
}

/** The rows of columns of a panel that are in sight. */
function addColumns(scene, data, panel) {
  const box = scene.boxes[panel];
  const { moment, t } = scene;
  data.panels[panel].parts.forEach((part, level) => {
    const visible = box.open.levels[level];
    if (part.result < 0 || visible < 0.02) return;
    const { y } = box.levels[level];
    for (let token = 0; token < box.count; token++) {
      if (!inWindow(box, token)) continue;
      const step = stepOf(data, panel, token);
      const there = reveal(data, panel, level, step, t);
      const x = columnX(box, token) - box.tile.w / 2;
      const now = step < 0 || moment.panel !== panel || step === moment.step;
      const alpha = visible * (now || isSource(data, moment, panel, level) ? 1 : 0.4);
      if (there <= 0) continue;
      if (there < 1) scene.slots.push({ panel, level, token, x, y, ...box.tile, alpha: visible * (1 - there) }); // it fills
      scene.tiles.push({ panel, level, token, tensor: part.result, x, y, ...box.tile, alpha, reveal: there });
    }
  });
}

/** Whether the working block looks at this row of columns. */
function isSource(data, moment, panel, level) {
  const part = data.panels[moment.panel].parts[moment.part];
  if (part.kind !== "attention" || moment.kind !== "block") return false;
  return part.memory < 0 && panel === moment.panel && level === moment.part - 1;
}

/** What happens inside the block of a moment: lines, beams, columns that move onto each other. */
function addWork(scene, data, view, n) {
  const moment = data.moments[n];
  const part = data.panels[moment.panel].parts[moment.part];
  const open = scene.boxes[moment.panel].open.parts[moment.part];
  const u = Math.min(1, (scene.t - moment.start) / moment.seconds);
  if (open < 0.03 || !["block", "write", "feed", "near"].includes(moment.kind)) return;
  if (n !== scene.n && data.moments[scene.n].part === moment.part && data.moments[scene.n].panel === moment.panel) return;
  if (part.kind === "attention") addLines(scene, data, view, moment, part, u, open);
  else if (part.kind === "positions") addPositions(scene, data, moment, part, u, open);
  else addBeams(scene, data, moment, part, u, open);
  if (moment.half === 2) addPassing(scene, data, moment, u, open);
}

/** The rows that a moment works on. */
function rowsOf(scene, data, moment) {
  const { count } = scene.boxes[moment.panel];
  const every = Array.from({ length: count }, (_, token) => token);
  if (moment.step < 0) return every;
  return every.filter((token) => stepOf(data, moment.panel, token) === moment.step);
}

function addLines(scene, data, view, moment, part, u, open) {
  const box = scene.boxes[moment.panel];
  const from = part.memory < 0 ? box : scene.boxes[part.memory];
  const tensor = data.tensors[part.weights];
  const head = headOf(view, moment);
  const own = part.memory < 0;
  const grown = growth(moment, u);
  const rows = rowsOf(scene, data, moment);
  const earlier = own && moment.step >= 0 ? Array.from({ length: rows[0] }, (_, row) => row) : [];
  const focus = view.focus?.panel === moment.panel && rows.includes(view.focus.token) ? view.focus.token : moment.focus;
  const source = own ? moment.part - 1 : data.panels[part.memory].parts.length - 1;
  const wide = Math.max(3, Math.min(9, 0.5 * box.tile.w));
  const below = from.levels[source].y > box.levels[moment.part].y;
  for (const row of [...earlier, ...rows]) {
    if (!inWindow(box, row)) continue;
    for (let column = 0; column < from.count; column++) {
      const weight = weightOf(tensor, head, row, column);
      if (weight < FAINTEST || !inWindow(from, column)) continue;
      const strong = row === focus || (rows.length === 1 && rows[0] === row);
      const y1 = from.levels[source].y + (own || below ? -2 : from.tile.h + 2);
      scene.lines.push({
        ...{ tensor: part.weights, head, row, column, weight, strong, grown: row < rows[0] ? 1 : grown.line },
        ...{ panel: moment.panel, part: moment.part, memory: !own, side: own || below ? -1 : 1 },
        ...{ x1: columnX(from, column), y1, x2: columnX(box, row), y2: box.levels[moment.part].y + box.tile.h + 2 },
        width: Math.max(0.5, weight * wide),
        alpha: open ** 2 * (strong ? 0.95 : row < rows[0] ? 0.16 : focus < 0 ? 0.5 : 0.2),
        dot: row < rows[0] ? 0 : grown.dot,
      });
    }
  }
  scene.attention = { panel: moment.panel, part: moment.part, tensor: part.weights, head, row: focus < 0 ? rows[0] : focus };
}

/** How far the lines of an attention have grown, and where what they carry is. */
function growth(moment, u) {
  if (moment.kind === "near") return { line: 1, dot: 0 };
  if (moment.half === 1) return { line: between(u, 0.2, 0.65), dot: 0 };
  if (moment.half === 2) return { line: 1, dot: u < 0.85 ? u / 0.85 : 0 };
  if (moment.kind === "write") return { line: between(u, 0.2, 0.5), dot: 0 };
  return { line: between(u, 0.1, 0.45), dot: u > 0.45 && u < 0.9 ? (u - 0.45) / 0.45 : 0 };
}

/** Each column by itself: a beam from the column, or the piece, below to the one above. */
function addBeams(scene, data, moment, part, u, open) {
  const box = scene.boxes[moment.panel];
  const there = box.levels[moment.part];
  if (part.result < 0) return;
  const below = moment.part ? box.levels[moment.part - 1].y : box.pieces.y - 4;
  for (const token of rowsOf(scene, data, moment)) {
    if (!inWindow(box, token)) continue;
    const grown = between(u, moment.kind === "feed" ? 0.5 : 0.1, moment.kind === "feed" ? 0.7 : 0.5);
    scene.beams.push({ panel: moment.panel, kind: part.kind, x: columnX(box, token), y1: below - 2, y2: there.y + box.tile.h + 2, w: box.tile.w, grown, alpha: open });
  }
}

/** A column and the numbers of its position move onto each other. */
function addPositions(scene, data, moment, part, u, open) {
  const box = scene.boxes[moment.panel];
  const from = box.levels[moment.part - 1].y;
  const to = box.levels[moment.part].y;
  const middle = (from + to) / 2;
  const gone = 1 - between(u, 0.68, 0.82);
  for (const token of rowsOf(scene, data, moment)) {
    if (!inWindow(box, token)) continue;
    const rise = between(u, 0.36, 0.66);
    const x = columnX(box, token) - box.tile.w / 2;
    const base = { panel: moment.panel, token, ...box.tile, reveal: 1 };
    const below = data.panels[moment.panel].parts[moment.part - 1].result;
    const shift = (1 - between(u, 0.02, 0.3)) * 26;
    scene.tiles.push({ ...base, level: moment.part - 1, tensor: below, x, y: mixed(from, to, rise), alpha: open * gone * Number(u > 0.3) });
    scene.tiles.push({ ...base, level: moment.part, tensor: part.added, added: true, x: x + shift, y: mixed(middle, to, rise), alpha: open * gone * between(u, 0.02, 0.3) * (1 - 0.5 * rise) });
  }
}

/** What each column was runs past the attention and joins what it made. */
function addPassing(scene, data, moment, u, open) {
  const box = scene.boxes[moment.panel];
  const from = data.panels[moment.panel].parts[moment.part - 1].result;
  const y = mixed(box.levels[moment.part - 1].y, box.levels[moment.part].y, between(u, 0.1, 0.6));
  const alpha = 0.75 * open * between(u, 0.05, 0.15) * (1 - between(u, 0.6, 0.8));
  for (const token of rowsOf(scene, data, moment)) {
    if (!inWindow(box, token) || alpha < 0.02) continue;
    scene.tiles.push({ panel: moment.panel, token, level: moment.part - 1, tensor: from, added: true, x: columnX(box, token) - box.tile.w / 2, y, ...box.tile, alpha, reveal: 1 });
  }
}

/** The way of the memory: from the top of one panel to every block that reads it. */
function addPipes(scene, data) {
  data.panels.forEach((panel, p) =>
    panel.parts.forEach((part, n) => {
      if (part.memory < 0) return;
      const at = data.moments.findIndex((m) => m.kind === "memory" && m.panel === part.memory);
      if (at < 0) return;
      const { start, seconds } = data.moments[at];
      const [from, to] = [scene.boxes[part.memory], scene.boxes[p]];
      const top = from.levels.at(-1).y + (from.open.levels.at(-1) * from.tile.h) / 2;
      const block = to.blocks[n];
      const y = block.y + mixed(block.h, Math.min(block.h, to.bar), to.open.parts[n]) / 2; // an open one is named at its top
      const side = from.x + from.w < to.x;
      const gate = side ? (from.x + from.w + to.x) / 2 : 4;
      const points = side
        ? [[from.x + from.w - PAD + 1, top], [gate, top], [gate, y], [to.x + PAD, y]]
        : [[from.x + PAD, top], [gate, top], [gate, y], [to.x + PAD, y]];
      const frame = { x: from.x + PAD, y: from.levels.at(-1).y - 3, w: from.inner, h: from.tile.h + 6, alpha: from.open.levels.at(-1), title: from.y + 14 };
      scene.pipes.push({ points, frame, filled: between((scene.t - start) / seconds, 0.25, 0.95), reads: scene.moment.panel === p && scene.moment.part === n });
    }),
  );
}

/** The likeliest next pieces while one is chosen; else only the one that was written last. */
function addBars(scene, data) {
  const writer = data.panels.findIndex((panel) => panel.parts.at(-1).kind === "output");
  const { moment, t } = scene;
  const box = scene.boxes[writer];
  const block = box.blocks.at(-1);
  const open = box.open.parts.at(-1);
  const shown = data.moments.findLast((m) => m.start < t && ["choose", "write", "end"].includes(m.kind));
  if (!shown) return;
  const row = rowIn(shown);
  const step = data.steps[row];
  const u = (t - shown.start) / shown.seconds;
  if (shown.kind === "write" && open < 0.05) {
    const [text, share] = step.candidates[step.chosen];
    if (u > 0.75) scene.bars.push({ text, share, small: true, chosen: true, step: row, x: block.x ?? box.x + PAD, y: block.y, w: box.inner, h: block.h, grown: between(u, 0.75, 0.95), alpha: 1 });
    return;
  }
  if (open < 0.05) return;
  const grown = shown.kind === "end" ? 1 : between(u, 0.2, 0.6);
  const taken = shown.kind === "end" ? 1 : between(u, 0.65, 0.85);
  const count = step.candidates.length;
  const height = Math.min(34, (block.h - box.bar - 10) / (count + 1));
  step.candidates.forEach(([text, share], i) => {
    const chosen = i === step.chosen;
    scene.bars.push({ text, share, chosen, taken, step: row, x: box.x + PAD, y: block.y + box.bar + 4 + i * height, w: box.inner, h: height, grown, alpha: open ** 3 * (chosen ? 1 : 1 - 0.35 * taken) });
  });
  const share = restOf(step);
  scene.rest = { text: `all ${(data.entries - count).toLocaleString("en")} others: ${percentOf(share)}`, share, x: box.x + PAD, y: block.y + box.bar + 4 + count * height, w: box.inner, h: height, alpha: open ** 3 * grown };
  scene.compared = { x: columnX(box, row), y: box.levels.at(-2).y - 3, to: block.y + block.h - 6, grown: between(u, 0, 0.25), alpha: open * Number(inWindow(box, row)) };
}

/** What the likeliest pieces of a step leave to all others. */
const restOf = ({ candidates }) => Math.max(0, candidates.reduce((left, [, share]) => left - share, 1));

/** The text that is written at time t. */
function writtenAt(data, t) {
  const shown = data.moments.findLast((m) => m.start < t && ["choose", "write", "end"].includes(m.kind));
  if (!shown) return "";
  const taken = shown.kind === "end" || (t - shown.start) / shown.seconds > 0.75;
  return data.steps[rowIn(shown) - Number(!taken)]?.written ?? "";
}

/** The scene with the numbers it shows: for every column its values, for every line its weight. */
function numbersOf(scene, data) {
  const tiles = scene.tiles.map((tile) => ({ ...tile, name: data.tensors[tile.tensor].name, values: [...vectorOf(data.tensors[tile.tensor], tile.token)] }));
  const lines = scene.lines.map((line) => ({ ...line, name: data.tensors[line.tensor].name }));
  const { t, n, moment, blocks, pieces, bars, rest } = scene;
  const near = scene.near && nearNumbers(scene.near);
  return { id: data.id, t, n, moment, blocks, pieces, bars, rest, tiles, lines, near, caption: moment.caption, written: scene.written };
}
