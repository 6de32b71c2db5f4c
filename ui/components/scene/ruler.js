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
    const [one, other] = [...data.marks.keys()].sort((a, b) => data.marks[a][0] - data.marks[b][0]);
    const long = (n) => [...data.marks[n][1]].length * (LETTER + 0.6);
    const at = (n) => X(data.start + data.marks[n][0] + 0.5);
    // The names of both stand side by side, as near to their marks as there is room.
    const right = Math.min(width - long(other), Math.max(at(other) - 3, long(one) + 10));
    const left = Math.max(0, Math.min(at(one) + 3, right - 10) - long(one));
    for (const [n, x] of [[one, left], [other, right]]) {
      const kind = n ? "key" : "query";
      pen.put("path", { d: `M${round(at(n))} 46V56`, class: `stroke ${kind}` });
      pen.text(x, 13, data.marks[n][1], `name ${kind}`);
    }
  },
};
