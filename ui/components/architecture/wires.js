// Every line of the map: up through each stack, past its blocks, and from one stack to another. Needs layout.js.

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

/** Lines as [d, d of the arrows' heads]: flow within the stacks, memory between them; and where the latter arrive. */
function wires({ s, at, columns }, feeds) {
  const [lines, heads, memory, memoryHeads] = [[], [], [], []];
  const size = s.font < 11 ? 4 : 5.5;
  const foot = (id) => at[id].y + at[id].h;
  for (const { stack, side, middle, tokens } of columns) {
    const ids = [...stack.inputs, ...stack.layer, ...stack.outputs];
    const up = (from, to) => lines.push(route([[middle, from], [middle, to]], heads, size));
    ids.forEach((id, i) => up(i ? at[ids[i - 1]].y : tokens.y, foot(id)));
    if (stack.outputs.length) up(at[ids.at(-1)].y, s.top);
    else if (!feeds.some(([from]) => from === stack.frame)) up(at[ids.at(-1)].y, at[stack.frame].y - s.exit);
    for (const [first, last] of stack.past) {
      const from = foot(first) + s.far * 0.52;
      const edge = (id) => (side < 0 ? at[id].x : at[id].x + at[id].w);
      const lane = edge(first) + side * s.lane * 0.62;
      const to = at[last].y + at[last].h / 2;
      lines.push(route([[middle, from], [lane, from], [lane, to], [edge(last), to]], heads, size));
    }
  }
  const arrivals = feeds.map(([from, id]) => {
    const source = columns.find(({ stack }) => stack.frame === from);
    const target = columns.find(({ stack }) => stack.layer.includes(id));
    const roof = at[from].y - s.leave;
    const shaft = target.tokens.x - s.gutter / 2;
    const level = at[id].y + at[id].h / 2;
    const start = [source.middle, at[source.stack.layer.at(-1)].y];
    memory.push(route([start, [start[0], roof], [shaft, roof], [shaft, level], [at[id].x, level]], memoryHeads, size));
    return { shaft, level, middle: target.middle, foot: foot(id) };
  });
  return { flow: [lines.join(""), heads.join("")], memory: [memory.join(""), memoryHeads.join("")], arrivals };
}
