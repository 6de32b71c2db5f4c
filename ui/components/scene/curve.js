// Lines over an axis, a ring that rides on one, points, ticks and words.

const CURVE = {
  height: (data) => data.height,

  draw(pen, data, width) {
    const named = data.lines.length > 1 ? data.lines.reduce((sum, [name]) => sum + [...name].length * LETTER + 30, 0) : 0;
    const row = data.title && [...data.title].length * LETTER * 1.15 + named > width ? 17 : 0; // the legend's, where a phone has no room beside the title
    const top = (data.title ? 26 : 10) + row;
    const [left, right, low] = [40, width - 18, data.height - 34];
    const [[xTitle, x0, x1, xNames], [yTitle, y0, y1, yNames]] = [data.x, data.y];
    const X = (x) => left + ((x - x0) / (x1 - x0)) * (right - left);
    const Y = (y) => low - ((y - y0) / (y1 - y0)) * (low - top);
    if (data.title) pen.text(0, 13, data.title, "title");
    const floor = Y(Math.min(y1, Math.max(y0, 0)));
    pen.put("path", { d: `M${left} ${round(floor)}H${right}`, class: "axis" });
    pen.put("path", { d: `M${left} ${top}V${low}`, class: "axis" });
    const ends = (low, high) => [low, high].map((end) => [end, neat(end)]);
    for (const [y, name] of yNames ?? ends(y0, y1)) pen.text(left - 5, Y(y) + 4, name, "tick", "end");
    let free = 0; // from where on nothing is written yet
    for (const [x, name] of xNames ?? ends(x0, x1)) {
      const half = (name.length * LETTER) / 2;
      if (X(x) - half < free) continue;
      pen.text(X(x), low + 15, name, "tick", "middle");
      free = X(x) + half;
    }
    pen.text((left + right) / 2, low + 29, xTitle, "note", "middle");
    if (yTitle) pen.text(left + 5, top + 3, yTitle, "note");
    for (const [x, y] of data.rug) pen.put("path", { d: `M${round(X(x))} ${round(floor)}V${round(Y(y))}`, class: "rug" });
    for (const [name, points, role, dashed] of data.lines) {
      const d = points.map(([x, y], n) => `${n ? "L" : "M"}${round(X(x))} ${round(Y(y))}`).join("");
      const node = pen.put("path", { d, class: `stroke ${role}${dashed ? " dashed" : ""}`, "data-name": name });
      node.style.strokeWidth = dashed ? 2 : 3;
    }
    for (const [x, y] of data.rug) pen.put("circle", { cx: round(X(x)), cy: round(Y(y)), r: 2.5, class: "rug" });
    for (const [x, y] of data.dots) pen.put("circle", { cx: round(X(x)), cy: round(Y(y)), r: 4, class: "spot" });
    if (named) this.legend(pen, data.lines, right, row);
    for (const [x, y, text] of data.words) pen.text(X(x), Y(y), text, "word", "middle");
    if (data.knob) pen.put("circle", { cx: round(X(data.knob[0])), cy: round(Y(data.knob[1])), r: 7, class: "knob" });
  },

  legend(pen, lines, right, top) {
    let x = right;
    for (const [name, , role, dashed] of [...lines].reverse()) {
      x -= [...name].length * LETTER + 30;
      pen.put("path", { d: `M${round(x)} ${9 + top}h20`, class: `stroke ${role}${dashed ? " dashed" : ""}` });
      pen.text(x + 25, 13 + top, name, "note");
    }
  },
};

/** A number at the end of an axis. */
function neat(value) {
  return String(Math.round(value * 100) / 100).replace("-", "−").replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}
