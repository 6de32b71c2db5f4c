// A text on a ruler of places, and where it stood before.

const RULER = {
  height: () => 74,

  draw(pen, data, width) {
    const place = (width - 12) / data.last;
    const X = (at) => 6 + (at - 1) * place;
    const wide = place * data.count;
    pen.put("path", { d: `M6 56H${round(width - 6)}`, class: "axis" });
    for (let at = 1; at <= data.last; at++) {
      const numbered = at === 1 || at % 5 === 0;
      pen.put("path", { d: `M${round(X(at + 0.5))} 56v${numbered ? 5 : 3}`, class: "axis" });
      if (numbered) pen.text(X(at + 0.5), 72, String(at), "tick", "middle");
    }
    pen.box(X(data.before), 20, wide, 26, "before", 6);
    pen.box(X(data.start), 20, wide, 26, "card query strong", 6);
    pen.fitted(X(data.start) + wide / 2, 37, data.text, wide - 4, "word");
    const left = data.marks[0][0] <= data.marks[1][0];
    data.marks.forEach(([at, name], n) => {
      const x = X(data.start + at + 0.5);
      pen.put("path", { d: `M${round(x)} 46V56`, class: `stroke ${n ? "key" : "query"}` });
      const before = left === (n === 0) && x > 90;
      pen.text(x + (before ? 3 : -3), 13, name, `name ${n ? "key" : "query"}`, before ? "end" : "start");
    });
  },
};
