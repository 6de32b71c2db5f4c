// Bands that run from the pieces of a text to its end: in one stream, or each in a lane of its own.

const BANDS_HEIGHT = 256;
const ENDS = 168; // pixels for the names and numbers at the right

const BANDS = {
  height: () => BANDS_HEIGHT,

  draw(pen, data, width) {
    const n = data.pieces.length;
    const ends = Math.min(ENDS, 0.36 * width);
    const slot = Math.min(140, (width - ends) / (n + 0.4));
    const [top, card] = [30, BANDS_HEIGHT - 28];
    const lane = Math.min(44, (card - 16 - top) / n);
    const thick = (s, t) => Math.max(1, 0.94 * lane * data.widths[s][t]);
    const X = (t) => slot * (t + 0.5);
    const laneOf = (s) => top + lane * (s + 0.5);
    const end = X(n - 1) + 0.9 * slot;
    const stream = data.pieces.map(() => top);
    const ways = data.pieces.map(() => []); // of each band: [x, y, thickness] from place to place
    for (let t = 0; t < n; t++) {
      let y = top;
      for (let s = 0; s <= t; s++) {
        const inStream = y + thick(s, t) / 2;
        y += thick(s, t);
        ways[s].push([X(t) + 0.4 * slot, inStream + (laneOf(s) - inStream) * data.direct, thick(s, t)]);
      }
    }
    pen.text(0, 13, data.title, "title");
    const beside = (data.title.length + data.head.length) * LETTER < end + ends;
    pen.text(end + ends - 8, beside ? 13 : 27, data.head, "note", "end");
    data.pieces.forEach((name, s) => {
      const kind = s === data.strong ? "strong" : s % 2 ? "odd" : "even";
      const [[x, y, thickness]] = ways[s];
      const rise = { d: `M${round(X(s))} ${card}V${round(y + 14)}Q${round(X(s))} ${round(y)} ${round(x)} ${round(y)}h1` };
      pen.put("path", { ...rise, class: `rise ${kind}`, "stroke-width": round(thickness) });
      pen.put("path", { d: this.outline([...ways[s], [end, laneOf(s), thick(s, n - 1)]]), class: `band ${kind}` });
      const room = Math.min(slot - 6, 112);
      pen.box(X(s) - room / 2, card - 2, room, 28, `card query ${s === data.strong ? "strong" : ""}`, 6);
      pen.fitted(X(s), card + 17, name, room - 6, "word");
      const strong = s === data.strong ? " strong" : "";
      pen.fitted(end + 8, laneOf(s) + 4, name, ends - 60, `word${strong}`, "start");
      pen.text(end + ends - 8, laneOf(s) + 4, data.ends[s], `number${strong}`, "end");
    });
  },

  /** Along the upper edge, and back along the lower. */
  outline(way) {
    const edge = (points) =>
      points
        .slice(1)
        .map(([x, y], n) => {
          const [x0, y0] = points[n];
          const half = round((x0 + x) / 2);
          return `C${half} ${round(y0)} ${half} ${round(y)} ${round(x)} ${round(y)}`;
        })
        .join("");
    const upper = way.map(([x, y, thickness]) => [x, y - thickness / 2]);
    const lower = way.map(([x, y, thickness]) => [x, y + thickness / 2]).reverse();
    return `M${round(upper[0][0])} ${round(upper[0][1])}${edge(upper)}L${round(lower[0][0])} ${round(lower[0][1])}${edge(lower)}Z`;
  },
};
