// Where everything on the map is, for the width there is. Nothing here knows a block by its name: stacks stand side by
// side, and each is piled up from the bottom, as the data say.

// Heights of blocks by their colour, and gaps. near: within what a residual runs past; far: room for it to branch off.
const SIZES = {
  full: {
    font: 12.5, line: 14, small: 11, most: 600, edge: 3, lane: 16, pad: 9, gutter: 36, round: 6,
    top: 22, exit: 13, enter: 11, step: 12, head: 15, foot: 14, pill: 18, near: 9, far: 19, tokens: 40, leave: 11,
    tall: { softmax: 36, linear: 30, norm: 26, add: 26, attention: 46, feed_forward: 32, positions: 30, embedding: 30 },
  },
  narrow: {
    font: 11.5, line: 13, small: 10.5, most: 600, edge: 2, lane: 11, pad: 6, gutter: 20, round: 6,
    top: 22, exit: 13, enter: 11, step: 12, head: 15, foot: 14, pill: 17, near: 9, far: 19, tokens: 40, leave: 11,
    tall: { softmax: 36, linear: 30, norm: 26, add: 26, attention: 46, feed_forward: 32, positions: 30, embedding: 30 },
  },
};
const LEGEND = 76; // pixels of height that the colour scales take one above the other
const LONE = 0.56; // of the width that two stacks take, for one

/** Width of the drawing in `room` pixels. */
function widthFor({ live, stacks }, room) {
  const share = stacks.length > 1 ? 1 : LONE;
  const most = live ? SIZES.full.most : 480;
  return Math.max(280 * share, Math.min(room, most * share));
}

/**
 * s: the sizes; at: a box for each block but the tokens; columns: for each stack the middle of its blocks, the side on
 * which residuals run past (-1 left), the box of its tokens; legend: its corner, beside or below the stacks
 */
function layOut(data, width) {
  const n = data.stacks.length;
  const s = width / n < 220 ? SIZES.narrow : SIZES.full;
  const frame = (width - 2 * s.edge - (n - 1) * s.gutter) / n;
  const at = {};
  const colours = Object.fromEntries(data.blocks.map(({ id, colour }) => [id, colour]));
  const columns = data.stacks.map((stack, i) => {
    const side = i === 0 && n > 1 ? -1 : 1;
    const x = s.edge + i * (frame + s.gutter);
    const inside = { x: x + s.pad + (side < 0 ? s.lane : 0), w: frame - s.lane - 2 * s.pad };
    const top = pile(stack, colours, s, at, inside, { x, w: frame });
    return { stack, side, middle: inside.x + inside.w / 2, top, tokens: { x, y: 0, w: frame, h: s.tokens } };
  });
  const highest = Math.min(...columns.map(({ top }) => top));
  const down = s.top + s.exit - highest;
  for (const box of [...Object.values(at), ...columns.map(({ tokens }) => tokens)]) box.y += down;
  const beside = n > 1 && columns[0].top - s.leave - highest >= LEGEND;
  const bottom = down + s.tokens + 6; // room for the frame around a marked block
  const legend = data.live && { beside, x: s.edge + 8, y: beside ? s.top + s.exit + 12 : bottom + 4 };
  return { s, at, columns, legend, width, height: bottom + (legend && !beside ? 22 : 0) };
}

/** Pile up the blocks of a stack over its tokens, which lie at 0; returns how far up they reach. */
function pile({ inputs, layer, outputs, frame, past }, colours, s, at, inside, outside) {
  const starts = new Set(past.map(([first]) => first));
  let y = 0;
  const put = (id, gap) => {
    const h = s.tall[colours[id]];
    y -= gap + h;
    at[id] = { ...inside, y, h };
  };
  inputs.forEach((id) => put(id, s.step));
  y -= s.enter;
  const floor = y;
  layer.forEach((id, i) => put(id, i === 0 ? s.foot : starts.has(id) ? s.far : s.near));
  y -= s.head;
  at[frame] = { ...outside, y, h: floor - y };
  outputs.forEach((id, i) => put(id, i === 0 ? s.enter + s.pill / 6 : s.step)); // the frame's name stands out above it
  return y;
}
