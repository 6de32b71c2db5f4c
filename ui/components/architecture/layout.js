// Where the blocks of the map stand, and the lines between them.

// The map of the whole encoder-decoder as one drawing, laid out for the width there is. Needs colour.js and shared.js.

const SVG = "http://www.w3.org/2000/svg";

/** A new SVG element with attributes. */
function draw(tag, attributes = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function put(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, typeof value === "number" ? String(+value.toFixed(2)) : value);
}

// Heights of blocks and gaps. near: attention → add & norm; far: room for the residual branch below a sub-layer.
const SIZES = {
  full: {
    font: 12.5, line: 14, small: 11, most: 600, edge: 3, lane: 16, pad: 9, gutter: 36, round: 6,
    top: 22, exit: 13, softmax: 36, linear: 30, enter: 11, step: 12, head: 15, foot: 14, pill: 18,
    norm: 26, near: 9, far: 19, attention: 46, feed: 32, positions: 30, embedding: 30, pieces: 40, leave: 11,
  },
  narrow: {
    font: 11.5, line: 13, small: 10.5, most: 600, edge: 2, lane: 11, pad: 6, gutter: 20, round: 6,
    top: 22, exit: 13, softmax: 36, linear: 30, enter: 11, step: 12, head: 15, foot: 14, pill: 17,
    norm: 26, near: 9, far: 19, attention: 46, feed: 32, positions: 30, embedding: 30, pieces: 40, leave: 11,
  },
  compact: {
    font: 10, line: 11, small: 10, most: 260, edge: 2, lane: 9, pad: 5, gutter: 18, round: 4,
    top: 16, exit: 9, softmax: 19, linear: 19, enter: 8, step: 8, head: 11, foot: 10, pill: 14,
    norm: 17, near: 6, far: 13, attention: 28, feed: 19, positions: 19, embedding: 19, pieces: 17, leave: 8,
  },
};

/** Where everything is, for a drawing `width` wide. */
function plan(width, compact) {
  const s = compact ? SIZES.compact : width < 440 ? SIZES.narrow : SIZES.full;
  const frame = (width - 2 * s.edge - s.gutter) / 2;
  const w = frame - s.lane - 2 * s.pad;
  const left = s.edge + s.pad + s.lane;
  const right = s.edge + frame + s.gutter + s.pad;
  const at = {};
  const box = (id, y, h) => (at[id] = { x: id.startsWith("encoder") ? left : right, y, w, h });
  let y = s.top + s.exit;
  const next = (id, h, gap) => {
    box(id, y, h);
    y += h + gap;
  };
  next("output.softmax", s.softmax, s.step);
  next("output.linear", s.linear, s.enter + s.pill / 6); // the name of the frame stands out above it
  const top = y;
  y += s.head;
  next("decoder.add_norm_3", s.norm, s.near);
  next("decoder.feed_forward", s.feed, s.far);
  next("decoder.add_norm_2", s.norm, s.near);
  next("decoder.cross_attn", s.attention, s.far);
  next("decoder.add_norm_1", s.norm, s.near);
  next("decoder.self_attn", s.attention, s.foot);
  const bottom = y;
  y += s.enter;
  next("decoder.positions", s.positions, s.step);
  next("decoder.embedding", s.embedding, s.step);
  for (const part of ["embedding", "positions", "self_attn", "add_norm_1"]) box(`encoder.${part}`, at[`decoder.${part}`].y, at[`decoder.${part}`].h);
  const feed = at["encoder.add_norm_1"].y - s.far - s.feed;
  box("encoder.feed_forward", feed, s.feed);
  box("encoder.add_norm_2", feed - s.near - s.norm, s.norm);
  const roof = feed - s.near - s.norm - s.head;
  at["encoder.stack"] = { x: s.edge, y: roof, w: frame, h: bottom - roof };
  at["decoder.stack"] = { x: right - s.pad, y: top, w: frame, h: bottom - top };
  const pieces = [s.edge, right - s.pad].map((x) => ({ x, y, w: frame, h: s.pieces }));
  return { s, at, pieces, frame, left: left + w / 2, right: right + w / 2, width, height: y + s.pieces + 6 }; // room for the frame around a marked block
}

/** A path along points with rounded corners; the head of an arrow at its end goes into `heads`. */
function route(points, heads, size) {
  const [bx, by] = points.at(-1);
  const [ax, ay] = points.at(-2);
  const [dx, dy] = [Math.sign(bx - ax), Math.sign(by - ay)];
  heads.push(`M${bx} ${by}L${bx - dx * size - dy * size * 0.6} ${by - dy * size - dx * size * 0.6}L${bx - dx * size + dy * size * 0.6} ${by - dy * size + dx * size * 0.6}Z`);
  const ends = [...points.slice(0, -1), [bx - dx * size * 0.7, by - dy * size * 0.7]];
  let path = `M${ends[0]}`;
  for (let i = 1; i < ends.length - 1; i++) {
    const [x, y] = ends[i];
    const toward = ([px, py]) => {
      const far = Math.hypot(px - x, py - y);
      const r = Math.min(4, far / 2) / far;
      return [x + (px - x) * r, y + (py - y) * r];
    };
    path += `L${toward(ends[i - 1])}Q${x},${y} ${toward(ends[i + 1])}`;
  }
  return path + `L${ends.at(-1)}`;
}

/** Every arrow as [d, d of its heads]: the main lines with the residuals, and the encoder's result to the decoder. */
function wires({ s, at, pieces, left, right, frame }) {
  const lines = [];
  const heads = [];
  const size = s.font < 11 ? 4 : 5.5;
  const up = (x, from, to) => lines.push(route([[x, from], [x, to]], heads, size));
  const foot = (id) => at[id].y + at[id].h;
  const column = (x, ids) => ids.forEach((id, i) => up(x, i ? at[ids[i - 1]].y : pieces[0].y, foot(id)));
  const residual = (side, x, part, norm) => {
    const from = foot(part) + s.far * 0.52;
    const lane = side < 0 ? at[part].x - s.lane * 0.62 : at[part].x + at[part].w + s.lane * 0.62;
    const to = at[norm].y + at[norm].h / 2;
    lines.push(route([[x, from], [lane, from], [lane, to], [side < 0 ? at[norm].x : at[norm].x + at[norm].w, to]], heads, size));
  };
  const enc = (name) => `encoder.${name}`;
  const dec = (name) => `decoder.${name}`;
  column(left, ["embedding", "positions", "self_attn", "add_norm_1", "feed_forward", "add_norm_2"].map(enc));
  column(right, [...["embedding", "positions", "self_attn", "add_norm_1", "cross_attn", "add_norm_2", "feed_forward", "add_norm_3"].map(dec), "output.linear", "output.softmax"]);
  up(right, at["output.softmax"].y, s.top);
  residual(-1, left, enc("self_attn"), enc("add_norm_1"));
  residual(-1, left, enc("feed_forward"), enc("add_norm_2"));
  residual(1, right, dec("self_attn"), dec("add_norm_1"));
  residual(1, right, dec("cross_attn"), dec("add_norm_2"));
  residual(1, right, dec("feed_forward"), dec("add_norm_3"));
  const cross = at["decoder.cross_attn"];
  const roof = at["encoder.stack"].y - s.leave;
  const shaft = s.edge + frame + s.gutter / 2;
  const level = cross.y + cross.h / 2;
  const memoryHeads = [];
  const memory = route([[left, at["encoder.add_norm_2"].y], [left, roof], [shaft, roof], [shaft, level], [cross.x, level]], memoryHeads, size);
  return { flow: [lines.join(""), heads.join("")], memory: [memory, memoryHeads.join("")], shaft, level, roof };
}
