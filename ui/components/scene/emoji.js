// A field of texts against pictures, and bars with pictures beside them.

const EMOJI = 30; // pixels to a side of a small picture
const EMOJI_LARGE = 96;
const FIELD_CELL = 46; // pixels of the widest cell
const FIELD_ROW = 34;
const FIND = 43; // pixels from one that was found to the next

const face = (pen, pictures, name, x, y, side) => pen.put("image", { x: round(x), y: round(y), width: side, height: side, href: pictures[name] });

const FIELD = {
  height: (data) => 24 + EMOJI + 6 + data.texts.length * FIELD_ROW + (data.note ? 20 : 2),

  draw(pen, data, width, palette, tallest, pictures) {
    const longest = Math.max(...data.texts.map((text) => [...text].length));
    const left = Math.min(0.4 * width, longest * LETTER + 10);
    const cell = Math.min(FIELD_CELL, (width - left) / data.pictures.length);
    const side = Math.min(EMOJI, cell - 4);
    const top = 24 + EMOJI + 6;
    if (data.title) pen.text(0, 13, data.title, "title");
    data.pictures.forEach((name, c) => face(pen, pictures, name, left + (c + 0.5) * cell - side / 2, 24, side));
    data.texts.forEach((text, r) => {
      const y = top + r * FIELD_ROW;
      pen.fitted(left - 8, y + FIELD_ROW / 2 + 4, text, left - 8, r ? "word" : "word strong", "end");
      data.shares[r].forEach((share, c) => {
        const x = left + c * cell;
        pen.box(x + 1, y + 1, cell - 2, FIELD_ROW - 2, "room", 4);
        pen.box(x + 1, y + 1, cell - 2, FIELD_ROW - 2, "looked", 4).style.opacity = round(85 * share) / 100;
        if (r === c) pen.box(x + 1, y + 1, cell - 2, FIELD_ROW - 2, "marked", 4);
        pen.text(x + cell / 2, y + FIELD_ROW / 2 + 4, share.toFixed(2), r === c ? "tick over strong" : "tick over", "middle");
      });
    });
    if (data.note) pen.fitted(0, top + data.texts.length * FIELD_ROW + 14, data.note, width, "note", "start");
  },
};

const FINDS = {
  top: (data) => (data.title ? 24 : 4),
  height(data) {
    return Math.max(this.top(data) + data.finds.length * FIND, data.of ? 24 + EMOJI_LARGE : 0) + (data.note ? 18 : 0);
  },

  draw(pen, data, width, palette, tallest, pictures) {
    const indent = data.of ? EMOJI_LARGE + 16 : 0;
    let y = this.top(data);
    if (data.title) pen.text(0, 13, data.title, "title");
    if (data.of) face(pen, pictures, data.of, 0, y, EMOJI_LARGE);
    for (const [name, share, text, note, picture, strong] of data.finds) {
      const x = indent + (picture ? EMOJI + 10 : 0);
      const end = width - 8 * LETTER;
      if (picture) face(pen, pictures, picture, indent, y + 3, EMOJI);
      pen.fitted(x, y + 13, name, end - x - note.length * 0.95 * LETTER - 6, strong ? "word strong" : "word", "start");
      pen.text(end, y + 13, note, "note", "end");
      pen.box(x, y + 19, end - x, 14, "room", 3);
      pen.box(x, y + 19, share * (end - x), 14, `fill query${strong ? "" : " weak"}`, 3);
      pen.text(width, y + 31, text, strong ? "number strong" : "number", "end");
      y += FIND;
    }
    if (data.note) pen.fitted(0, this.height(data) - 4, data.note, width, "note", "start");
  },
};
