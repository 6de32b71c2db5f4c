// Marks on a scale from 0 to 1, those that would lie on one another side by side; a ring for the visitor's own.

const DOTS_HEIGHT = 128;
const DOT = 9;

const DOTS = {
  height: () => DOTS_HEIGHT,

  draw(pen, data, width) {
    const left = width > 560 ? 150 : 0;
    const top = left ? 4 : 44;
    const low = DOTS_HEIGHT - 20;
    const X = (value) => left + 12 + value * (width - left - 24);
    pen.box(left, top, (width - left) / 2, low - top, "field low", 6);
    pen.box(left + (width - left) / 2, top, (width - left) / 2, low - top, "field high", 6);
    pen.text(0, 14, data.title, "title");
    pen.text(0, left ? 50 : 40, data.big, "big");
    if (data.note) pen.text(left ? 0 : width, left ? 72 : 14, data.note, "note", left ? "start" : "end");
    const [count, filled] = [{}, {}];
    const columnOf = (value) => Math.round(X(value) / DOT);
    for (const [value] of data.dots) count[columnOf(value)] = (count[columnOf(value)] ?? 0) + 1;
    for (const [value, kind] of data.dots) {
      const column = columnOf(value);
      const n = (filled[column] = (filled[column] ?? -1) + 1);
      const apart = Math.min(DOT, (low - top - DOT) / count[column]); // many at one place lie on one another
      const y = (top + low) / 2 + (n % 2 ? 1 : -1) * Math.ceil(n / 2) * apart;
      if (kind) pen.put("circle", { cx: round(X(value)), cy: round(y), r: 4, class: "dot high" });
      else pen.box(X(value) - 3.5, y - 3.5, 7, 7, "dot low");
    }
    if (data.mine !== null) pen.put("circle", { cx: round(X(data.mine)), cy: (top + low) / 2, r: 9, class: "knob" });
    pen.text(left + 4, DOTS_HEIGHT - 5, data.ends[0], "note");
    pen.text(width - 4, DOTS_HEIGHT - 5, data.ends[1], "note", "end");
  },
};
