// Named numbers as bars; what was before stays as a dashed outline.

const BAR = 24; // pixels from one to the next
const NAMED = 7.3; // pixels that a letter of a name takes: some are bold

const BARS = {
  height: (data) => (data.title ? 24 : 4) + data.bars.length * BAR + (data.note ? 20 : 2),

  draw(pen, data, width) {
    const longest = Math.max(3, ...data.bars.map((bar) => [...bar[0]].length));
    const left = Math.min(0.42 * width, longest * NAMED + 8);
    const right = Math.max(4, ...data.bars.map((bar) => bar[2].length)) * LETTER + 6;
    const room = Math.max(20, width - left - right);
    const share = (value) => Math.min(1, Math.max(0, value / data.limit)) * room;
    let y = 4;
    if (data.title) {
      pen.text(0, 13, data.title, "title");
      y = 24;
    }
    for (const [label, value, text, before, strong] of data.bars) {
      pen.fitted(left - 7, y + 15, label, left - 4, strong ? "word strong" : "word", "end");
      pen.box(left, y + 3, room, 16, "room", 3);
      pen.box(left, y + 3, share(value), 16, `fill ${data.role}${strong ? "" : " weak"}`, 3);
      if (before !== null) pen.box(left + 0.5, y + 3.5, share(before), 15, "before", 3);
      pen.text(width, y + 15, text, strong ? "number strong" : "number", "end");
      y += BAR;
    }
    if (data.note) pen.fitted(0, y + 12, data.note, width, "note", "start");
  },
};
