// Numbers as colours; and the square of all pairs of a text.

const MATRIX = {
  sides(data, width) {
    const [rows, columns] = [data.values.length, data.values[0].length];
    const left = data.rows.length ? 64 : 0;
    const top = (data.title ? 22 : 2) + (data.columns.length ? 18 : 0);
    const cell = Math.min(34, (width - left) / columns, 190 / rows);
    return { rows, columns, left, top, cell };
  },

  height(data, width) {
    const { rows, top, cell } = this.sides(data, width);
    return top + rows * cell + (data.note ? 22 : 4);
  },

  draw(pen, data, width, palette) {
    const { rows, columns, left, top, cell } = this.sides(data, width);
    const x0 = left + (width - left - columns * cell) / 2;
    const kind = data.signed ? "signed" : "weight";
    if (data.title) pen.fitted(width / 2, 13, data.title, width, "title");
    data.columns.forEach((name, c) => pen.fitted(x0 + (c + 0.5) * cell, top - 5, name, cell, "tick"));
    data.rows.forEach((name, r) => pen.fitted(x0 - 5, top + (r + 0.5) * cell + 4, name, left - 6, "tick", "end"));
    data.values.forEach((row, r) =>
      row.forEach((value, c) => {
        const node = pen.box(x0 + c * cell, top + r * cell, cell - (cell > 8 ? 1 : 0), cell - (cell > 8 ? 1 : 0), "cell");
        node.style.fill = palette.scales[kind].css[Math.max(0, levelOf(value, kind, data.ends))];
        node.style.opacity = 1 - data.pale;
      }),
    );
    if (data.marked) pen.box(x0 + data.marked[1] * cell - 1, top + data.marked[0] * cell - 1, cell + 1, cell + 1, "marked", 2);
    if (data.note) pen.fitted(width / 2, top + rows * cell + 16, data.note, width, "number");
  },
};

const SIDE = 232; // pixels of the largest square

const SQUARE = {
  height: () => SIDE + 62,

  draw(pen, data, width) {
    const most = Math.min(SIDE, width - 84);
    const [side, unit, reach] = [data.side, data.unit, data.reach + 0.5].map((pieces) => (pieces / data.most) * most);
    const [left, top] = [76, 26];
    const bottom = top + side;
    pen.text(0, 13, data.title, "title");
    pen.box(left, top, side, side, "pairs");
    const lines = [];
    for (let at = unit; at < side - 0.5; at += unit) {
      lines.push(`M${round(left + at)} ${top}V${round(bottom)}M${left} ${round(top + at)}h${round(side)}`);
    }
    pen.put("path", { d: lines.join("") || "M0 0", class: "axis" });
    const cut = Math.min(reach, side);
    const [right, foot, near, far] = [left + side, bottom, top + cut, bottom - cut].map(round);
    const corners = [`M${left} ${top}`, `H${round(left + cut)}`, `L${right} ${far}V${foot}`, `H${round(right - cut)}`, `L${left} ${near}Z`];
    pen.put("path", { d: corners.join(""), class: "diagonal" });
    pen.box(left, bottom + 4, side, 5, "strip");
    pen.box(left, top, unit, unit, "before");
    pen.text(left - 7, top + unit / 2 + 4, data.texts[0], "note", "end");
    pen.text(left + side, bottom + 26, data.texts[1], "number strong", "end");
  },
};
