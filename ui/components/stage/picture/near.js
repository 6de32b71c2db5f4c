// A block from near: what it does with the numbers of one piece. Lists of things with their places, as in a scene.

const ARRIVED = 0.22; // the part of the moment in which the picture comes near

/** What a moment shows from near at u, 0 to 1 of it. */
function nearAt(data, moment, u, view) {
  const { width, height } = view;
  const size = Math.max(0.9, Math.min(2, Math.min(width / 400, height / 328)));
  const near = { ...data.near, data, moment, width, height, size, head: headOf(view, moment), row: moment.focus };
  const { parts, side } = data.panels[moment.panel];
  Object.assign(near, { alpha: between(u, 0.4 * ARRIVED, ARRIVED), side, columns: [], lines: [], texts: [], bars: [], pieces: [], crosses: [] });
  near.weights = parts[moment.part].weights;
  const v = Math.max(0, (u - ARRIVED) / (1 - ARRIVED));
  label(near, near.view === "norm" ? `${titleOf(data, moment.panel, moment.part)}: Add & Norm` : titleOf(data, moment.panel, moment.part), 8, 12 * size, { align: "left", weight: 700, role: side });
  VIEWS[near.view](near, v);
  return near;
}

const VIEWS = { project: nearProject, score: nearScore, mix: nearMix, heads: nearHeads, mask: nearMask, norm: nearNorm, read: nearRead, widen: nearWiden };

// --- what the views are made of ----------------------------------------------------------------------------------------

const wordAt = (near, token) => near.data.panels[near.moment.panel].tokens[token];
const weightAt = (near, column, row = near.row, head = near.head) => weightOf(near.data.tensors[near.weights], head, row, column);

function label(near, text, x, y, more = {}) {
  near.texts.push({ text, x, y, size: 12 * near.size, align: "center", weight: 400, alpha: 1, ...more });
}

/** What is left out, in the upper corner; below the title, if there is no room beside it. */
function aside(near, text) {
  const { width, size } = near;
  const beside = width > 420 * size;
  label(near, text, beside ? width - 8 : 8, (beside ? 12 : 28) * size, { align: beside ? "right" : "left", size: 11 * size, muted: true });
}

/** A column of numbers, its middle at x and its foot at y. Returns its box. */
function column(near, tensor, index, x, y, { across, cell, role = "", grown = 1, alpha = 1, tall = cell }) {
  const width = near.data.tensors[tensor].shape.at(-1);
  const [w, h] = [across * cell, Math.ceil(width / across) * tall];
  const one = { tensor, index, x: x - w / 2, y: y - h, w, h, across, role, grown, alpha };
  near.columns.push(one);
  return one;
}

function line(near, x1, y1, x2, y2, more = {}) {
  near.lines.push({ x1, y1, x2, y2, width: 2, role: near.side, alpha: 0.9, grown: 1, side: -1, memory: false, dot: 0, strong: true, ...more });
}

/** A piece in its frame, its middle at x. */
function boxed(near, token, x, y, w = 84 * near.size, panel = near.moment.panel) {
  const text = near.data.panels[panel].tokens[token];
  near.pieces.push({ panel, token, text, x: x - w / 2, y, w, h: 23 * near.size, alpha: 1, frame: 1, flat: true, small: 1, id: 0, showId: 0, size: near.size });
}

/** The pieces in a row, or as many as there is room for, around one of them. Returns their middles by their number. */
function row(near, around, left = 8, panel = near.moment.panel) {
  const { data, width, size } = near;
  const count = data.panels[panel].tokens.length;
  const room = width - left - 8;
  const fit = Math.max(1, Math.min(count, Math.floor(room / (40 * size))));
  const first = Math.min(count - fit, Math.max(0, around - Math.floor(fit / 2)));
  const pitch = Math.min(room / fit, 84 * size);
  const top = near.height - 23 * size - 6;
  const places = Array.from({ length: fit }, (_, i) => ({ token: first + i, x: left + (i + 0.5) * pitch + (room - fit * pitch) / 2 }));
  for (const { token, x } of places) boxed(near, token, x, top, pitch - 4, panel);
  const [before, after] = [first, count - first - fit];
  const more = [before && `${before} before`, after && `${after} after`].filter(Boolean).join(", ");
  if (more) aside(near, `not shown: ${more}`);
  return { places, pitch, top };
}

const heaviest = (near, row = near.row, head = near.head) => {
  const weights = Array.from({ length: near.data.tensors[near.weights].shape[2] }, (_, c) => weightAt(near, c, row, head));
  return weights.indexOf(Math.max(...weights));
};

// --- the views -----------------------------------------------------------------------------------------------------------

/** One column becomes three. */
function nearProject(near, v) {
  const { width, height, size } = near;
  const middle = width / 2;
  const cell = Math.max(2, Math.floor(3 * size));
  boxed(near, near.row, middle, height - 30 * size);
  const x = column(near, near.x, [near.row], middle, height - 36 * size, { across: 8, cell: cell + 1, tall: cell });
  label(near, `${near.data.tensors[near.x].shape[1]} numbers`, x.x + x.w + 8, x.y + x.h / 2, { align: "left", size: 11 * size, muted: true });
  const told = { q: ["query", "what it looks for"], k: ["key", "how it is found"], v: ["value", "what it hands over"] };
  Object.entries(told).forEach(([what, [role, says]], n) => {
    const at = (width * (n + 0.5)) / 3;
    const begun = 0.1 + 0.22 * n;
    const alpha = between(v, begun, begun + 0.15);
    const tall = Math.max(2, Math.floor(4.5 * size));
    const foot = 62 * size + 16 * tall;
    column(near, near[what], [near.head, near.row], at, foot, { across: 4, cell: Math.floor(9 * size), tall, role, grown: between(v, begun + 0.12, begun + 0.3), alpha });
    line(near, middle + (n - 1) * 0.3 * x.w, x.y - 2, at, foot + 4, { role, alpha, grown: between(v, begun, begun + 0.15), width: 3 });
    label(near, role, at, 34 * size, { weight: 700, size: 14 * size, role, alpha });
    label(near, says, at, 51 * size, { size: 11.5 * size, alpha });
  });
}

/** The query meets the keys, one after the other. */
function nearScore(near, v) {
  const { size, row: own } = near;
  const left = 62 * size;
  const best = heaviest(near);
  const { places, top } = row(near, best, left);
  const tall = Math.max(2, Math.floor(4.6 * size));
  const shape = { across: 4, cell: Math.floor(7 * size), tall };
  const foot = top - 6;
  const lane = foot - 16 * tall - 9 * size;
  const scores = lane - 16 * tall - 15 * size;
  const from = scores - 17 * size; // foot of the bars
  const room = from - 42 * size;
  const rest = places.find((one) => one.token === best).x;
  const sweep = mixed(places[0].x, places.at(-1).x, between(v, 0.08, 0.55));
  const at = mixed(sweep, rest, between(v, 0.58, 0.68));
  for (const { token, x } of places) {
    const met = v > 0.08 && (at >= x - 1 || v > 0.56);
    const strong = token === best && v > 0.66;
    column(near, near.k, [near.head, token], x, foot, { ...shape, role: "key" });
    const score = near.data.tensors[near.scaled].values[(near.head * near.data.tensors[near.scaled].shape[1] + own) * near.data.tensors[near.scaled].shape[2] + token];
    label(near, signed(score), x, scores, { alpha: Number(met), weight: strong ? 700 : 400, value: score, name: near.scaled, index: [near.head, own, token] });
    bar(near, token, x, from, room, between(v, 0.68, 0.92), strong);
  }
  column(near, near.q, [near.head, own], at, lane, { ...shape, role: "query" });
  const side = { align: "left", size: 12 * size, weight: 700 };
  label(near, "key", 8, foot - 8 * tall, { ...side, role: "key" });
  label(near, "query", 8, lane - 11 * tall, { ...side, role: "query" });
  label(near, wordAt(near, own), 8, lane - 11 * tall + 15 * size, { align: "left", most: left - 10 });
  label(near, "score", 8, scores, side);
  label(near, "weight", 8, from - 10 * size, side);
}

/** A weight as a bar that stands on y, with its share above. */
function bar(near, token, x, y, room, grown, strong) {
  const weight = weightAt(near, token);
  const w = 22 * near.size;
  near.bars.push({ token, name: near.weights, head: near.head, row: near.row, weight, x: x - w / 2, y: y - room * weight * grown, w, h: Math.max(1, room * weight * grown), alpha: Math.min(1, 4 * grown) });
  label(near, percentOf(weight), x, y - room * weight * grown - 9 * near.size, { alpha: Math.min(1, 3 * grown), weight: strong ? 700 : 400 });
}

/** Shares of the values add up to a new column. */
function nearMix(near, v) {
  const { width, size } = near;
  const { places, top } = row(near, heaviest(near));
  const tall = Math.max(2, Math.floor(4.6 * size));
  const shape = { across: 4, cell: Math.floor(7 * size), tall };
  const foot = top - 6;
  const upper = foot - 16 * tall;
  const goal = 26 * size + 16 * tall;
  const grown = between(v, 0.1, 0.4);
  for (const { token, x } of places) {
    column(near, near.v, [near.head, token], x, foot, { ...shape, role: "value" });
    const weight = weightAt(near, token);
    label(near, percentOf(weight), x, upper - 9 * size, { weight: weight > 0.2 ? 700 : 400, alpha: grown, halo: true });
    if (weight < FAINTEST) continue;
    const dot = v > 0.4 && v < 0.85 ? (v - 0.4) / 0.45 : 0;
    line(near, x, upper - 18 * size, width / 2, goal + 4, { width: Math.max(1, 14 * size * weight), role: "value", grown, dot, weight, name: near.weights, head: near.head, row: near.row, column: token });
  }
  column(near, near.heads, [near.head, near.row], width / 2, goal, { ...shape, role: "output", grown: between(v, 0.5, 0.9) });
  label(near, `new, for ${wordAt(near, near.row)}`, width / 2 + 22 * size, goal - 8 * tall, { align: "left", weight: 700, role: "output", alpha: between(v, 0.5, 0.9), most: width / 2 - 30 * size });
  label(near, "value", 8, upper - 26 * size, { align: "left", weight: 700, role: "value", halo: true });
}

/** All heads side by side, each with its weights. */
function nearHeads(near, v) {
  const { data, width, height, size } = near;
  const n = data.tensors[near.weights].shape[0];
  const { tokens } = data.panels[near.moment.panel];
  const wide = width / n;
  const cell = Math.max(2, Math.floor(Math.min(4.6 * size, (wide - 12) / 8)));
  const top = (width > 420 * size ? 30 : 42) * size; // below what `aside` says
  const made = column(near, near.made, [near.row], width / 2, top + 8 * cell, { across: 32, cell, role: "", grown: between(v, 0.7, 0.95) });
  const foot = made.y + made.h + 34 * size + 8 * cell;
  const lines = Math.min(tokens.length, Math.floor((height - foot - 30 * size) / (15 * size)));
  label(near, `new, for ${wordAt(near, near.row)}`, 8, made.y + made.h / 2, { align: "left", weight: 700, role: near.side, alpha: between(v, 0.7, 0.95), most: made.x - 12 });
  for (let head = 0; head < n; head++) {
    const x = (head + 0.5) * wide;
    const grown = between(v, 0.04 + 0.1 * head, 0.25 + 0.1 * head);
    label(near, `head ${head + 1}`, x, foot + 14 * size, { weight: 700, size: 12 * size });
    const shares = tokens.map((_, token) => [token, weightAt(near, token, near.row, head)]);
    const largest = [...shares].sort((a, b) => b[1] - a[1]).slice(0, lines).map(([token]) => token);
    const shown = shares.filter(([token]) => largest.includes(token));
    shown.forEach(([token, weight], i) => {
      const y = foot + (32 + 15 * i) * size;
      const long = 0.46 * wide;
      label(near, tokens[token], x - 0.06 * wide, y, { align: "right", size: 11 * size, most: 0.4 * wide, weight: weight === Math.max(...shares.map((one) => one[1])) ? 700 : 400 });
      near.bars.push({ token, name: near.weights, head, row: near.row, weight, x, y: y - 4.5 * size, w: Math.max(1, long * weight * grown), h: 9 * size, alpha: 1 });
    });
    column(near, near.heads, [head, near.row], x, foot, { across: 8, cell, role: "output", grown: between(v, 0.4, 0.6) });
    line(near, x, foot - 8 * cell - 3, width / 2 + (x - width / 2) * ((32 * cell) / width), made.y + made.h + 3, { width: 3, role: "output", grown: between(v, 0.58, 0.75) });
  }
  if (lines < tokens.length) aside(near, `the ${lines} largest weights of ${tokens.length}`);
}

/** Row after row: what is written later is hidden. */
function nearMask(near, v) {
  const { size } = near;
  const own = Math.min(near.row, Math.floor(between(v, 0, 0.85) * (near.row + 1)));
  const { places, pitch, top } = row(near, near.row);
  const cell = Math.max(2, Math.floor(Math.min((pitch - 12) / 8, 0.013 * near.height)));
  const foot = top - 8;
  const upper = foot - 32 * cell;
  const goal = 66 * size;
  const who = places.find((one) => one.token === own) ?? places[0];
  const most = Math.max(...places.map((one) => one.x));
  for (const { token, x } of places) {
    const hidden = token > own;
    const weight = weightAt(near, token, own);
    const shape = column(near, near.x, [token], x, foot, { across: 8, cell, alpha: hidden ? 0.22 : 1 });
    if (hidden) near.crosses.push({ token, x: shape.x - 3, y: shape.y, w: shape.w + 6, h: shape.h, name: near.weights, weight, head: near.head, row: own });
    label(near, hidden ? "hidden" : percentOf(weight), x, upper - 10 * size, { size: (hidden ? 11 : 12) * size, muted: hidden, weight: weight > 0.2 ? 700 : 400 });
    near.pieces.find((one) => one.token === token).alpha = hidden ? 0.75 : 1;
    if (hidden || weight < FAINTEST) continue;
    line(near, x, upper - 19 * size, who.x, goal + 3, { width: Math.max(1, 12 * size * weight), weight, name: near.weights, head: near.head, row: own, column: token });
  }
  label(near, `${wordAt(near, own)} looks`, Math.min(who.x, most), goal - 14 * size, { weight: 700, size: 14 * size, role: near.side });
}

/** Two columns become one, and that is brought to one scale. */
function nearNorm(near, v) {
  const { width, height, size } = near;
  const cell = Math.max(3, Math.floor(Math.min(5.4 * size, (height - 130 * size) / 32)));
  const foot = height - 46 * size;
  const at = (n) => width * [0.11, 0.37, 0.66, 0.89][n];
  const shape = { across: 8, cell, tall: cell };
  const x = column(near, near.x, [near.row], at(0), foot, shape);
  const middle = x.y + x.h / 2;
  const grown = [1, between(v, 0.12, 0.35), between(v, 0.42, 0.62), between(v, 0.74, 0.95)];
  const names = ["made", "sum", "normed"];
  names.forEach((what, n) => column(near, near[what], [near.row], at(n + 1), foot, { ...shape, grown: grown[n + 1], alpha: Math.min(1, 4 * grown[n + 1]) }));
  const half = x.w / 2 + 5;
  const over = x.y - 22 * size;
  line(near, at(0) + half, middle, at(1) - half, middle, { arrow: true, grown: between(v, 0, 0.12) });
  label(near, "attention", (at(0) + at(1)) / 2, middle - 11 * size, { size: 11 * size });
  near.lines.push({ bent: [[at(0), x.y - 4], [at(0), over], [at(2) - half - 12 * size, over], [at(2) - half - 12 * size, middle - 9 * size]], width: 4, role: near.side, alpha: 0.9, grown: between(v, 0.12, 0.42) });
  label(near, "runs past it", (at(0) + at(2)) / 2 - 10 * size, over - 9 * size, { size: 11 * size });
  const plus = at(2) - half - 12 * size;
  line(near, at(1) + half, middle, plus - 9 * size, middle, { arrow: true, grown: between(v, 0.32, 0.42) });
  label(near, "+", plus, middle, { size: 22 * size, weight: 700, alpha: grown[1] });
  line(near, at(2) + half, middle, at(3) - half, middle, { arrow: true, grown: between(v, 0.62, 0.74) });
  const told = [wordAt(near, near.row), "from attention", "sum", "normalised"];
  told.forEach((text, n) => label(near, text, at(n), foot + 13 * size, { weight: 700, size: 12 * size, alpha: Math.min(1, 4 * grown[n]), most: 0.27 * width }));
  near.spreads.forEach((spread, n) => label(near, `spread ${spread}`, at(n + 2), foot + 30 * size, { alpha: Math.min(1, 4 * grown[n + 2]) }));
}

/** The query comes from the side that writes, keys and values from the memory. */
function nearRead(near, v) {
  const { data, moment, width, size, head, row: own } = near;
  const { memory } = data.panels[moment.panel].parts[moment.part];
  const { places, pitch, top } = row(near, heaviest(near), 66 * size, memory);
  const slim = { across: 4, cell: Math.max(3, Math.floor(Math.min(5 * size, (pitch - 12) / 8))), tall: Math.max(2, Math.floor(3 * size)) };
  const wide = { across: 16, cell: Math.max(2, Math.floor(Math.min(3 * size, (pitch - 6) / 16))), tall: Math.max(2, Math.floor(2 * size)) };
  const high = 40 * size; // upper edge of what the side that writes has
  const goal = high + 16 * slim.tall;
  const foot = top - 24 * size - 16 * wide.tall;
  const upper = foot - 16 * slim.tall;
  const [asked, made, met, taken] = [between(v, 0, 0.15), between(v, 0.12, 0.3), between(v, 0.32, 0.5), between(v, 0.55, 0.8)];
  const x = column(near, near.x, [own], 46 * size, high + 16 * wide.tall, wide);
  boxed(near, own, x.x + x.w / 2, x.y + x.h + 6);
  const q = column(near, near.q, [head, own], 124 * size, goal, { ...slim, role: "query", grown: asked });
  line(near, x.x + x.w + 5, x.y + x.h / 2, q.x - 7, x.y + x.h / 2, { role: "query", arrow: true, grown: asked });
  label(near, "query", q.x + q.w + 7, q.y + q.h / 2, { align: "left", weight: 700, role: "query" });
  const to = 0.66 * width;
  for (const { token, x: at } of places) {
    const m = column(near, near.memory, [token], at, top - 6, { ...wide, role: "memory" });
    const weight = weightAt(near, token);
    const half = 2 * slim.cell + 3;
    ["key", "value"].forEach((role, n) => {
      const side = at + (n ? half : -half);
      column(near, near[role[0]], [head, token], side, foot, { ...slim, role, grown: made });
      line(near, at, m.y - 3, side, foot + 3, { role, width: 1.5, grown: made });
    });
    line(near, at - half, upper - 4, q.x + q.w / 2, goal + 4, { role: "query", width: 1, alpha: 0.45, grown: met });
    label(near, percentOf(weight), at, upper - 11 * size, { weight: weight > 0.2 ? 700 : 400, alpha: met, halo: true });
    if (weight < FAINTEST) continue;
    const dot = v > 0.55 && v < 0.9 ? (v - 0.55) / 0.35 : 0;
    line(near, at + half, upper - 4, to, goal + 4, { width: Math.max(1, 14 * size * weight), role: "value", grown: taken, dot, weight, name: near.weights, head, row: own, column: token });
  }
  column(near, near.heads, [head, own], to, goal, { ...slim, role: "output", grown: between(v, 0.62, 0.92) });
  label(near, `new, for ${wordAt(near, own)}`, to + 22 * size, high + 8 * slim.tall, { align: "left", weight: 700, role: "output", alpha: taken, most: width - to - 28 * size });
  const side = { align: "left", size: 12 * size, weight: 700 };
  label(near, "memory", 8, top - 6 - 8 * wide.tall, { ...side, role: "memory" });
  label(near, "key", 8, foot - 10 * slim.tall, { ...side, role: "key" });
  label(near, "value", 8, foot - 5 * slim.tall, { ...side, role: "value" });
}

/** One column is widened; what lies below zero is cut; and it is narrowed again. */
function nearWiden(near, v) {
  const { data, width, height, size } = near;
  const [narrow, wide] = [near.x, near.pre].map((tensor) => data.tensors[tensor].shape[1]);
  const more = Math.round(wide / narrow);
  const cell = Math.max(1, Math.floor(Math.min(6 * size, (width - 24) / 16 / more)));
  const tall = Math.max(2, Math.floor((height - 126 * size) / 64));
  const told = [
    [near.x, 16, `${narrow.toLocaleString("en")} numbers`],
    [near.pre, 16 * more, `widened to ${wide.toLocaleString("en")}`],
    [near.hidden, 16 * more, "what was below zero is 0"],
    [near.made, 16, `narrowed to ${narrow.toLocaleString("en")}`],
  ];
  boxed(near, near.row, width / 2, height - 30 * size);
  let below;
  told.forEach(([tensor, across, says], n) => {
    const begun = 0.26 * n - 0.12;
    const grown = n ? between(v, begun + 0.08, begun + 0.24) : 1;
    const one = column(near, tensor, [near.row], width / 2, below ? below.y - 22 * size : height - 38 * size, { across, cell, tall, role: n % 3 ? "" : near.side, grown });
    const alpha = n ? between(v, begun, begun + 0.08) : 1;
    if (below)
      for (const end of [0, 1])
        near.lines.push({ bent: [[below.x + end * below.w, below.y - 4], [one.x + end * one.w, one.y + one.h + 4]], width: 2, role: near.side, alpha: 0.6, grown: alpha });
    label(near, says, n ? width / 2 : one.x + one.w + 8, n ? one.y + one.h + 11 * size : one.y + one.h / 2, { align: n ? "center" : "left", alpha });
    below = one;
  });
}

/** A score: one decimal, and a true minus sign. */
const signed = (value) => `${value <= -0.05 ? "−" : ""}${Math.abs(value).toFixed(1)}`;

/** The numbers of what is seen from near. */
function nearNumbers({ data, columns, lines, bars, texts, crosses, alpha, view }) {
  const nameOf = (tensor) => data.tensors[tensor].name;
  return {
    view,
    alpha,
    columns: columns.map((one) => ({ ...one, name: nameOf(one.tensor), values: [...slice(data.tensors[one.tensor], one.index)] })),
    lines: lines.map((one) => ({ ...one, name: one.weight === undefined ? "" : nameOf(one.name) })),
    bars: bars.map((one) => ({ ...one, name: nameOf(one.name) })),
    crosses: crosses.map((one) => ({ ...one, name: nameOf(one.name) })),
    texts: texts.map((one) => ({ ...one, name: one.name === undefined ? "" : nameOf(one.name) })),
  };
}

/** The vector at a place of a tensor: [row] of (T,d), [head, row] of (H,T,d). */
function slice({ shape, values }, index) {
  const width = shape.at(-1);
  const at = index.length === 2 ? index[0] * shape[1] + index[1] : index[0];
  return values.subarray(at * width, (at + 1) * width);
}
