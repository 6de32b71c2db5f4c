// One layer's wiring, and a tower of layers that sways.

const LAYERS_HEIGHT = 244;
const NORM = 24; // pixels of a norm's height

const WIRING = {
  height: () => LAYERS_HEIGHT,

  draw(pen, data, width) {
    const [stream, branch] = [0.2 * width, 0.66 * width];
    const [top, slot0, plus, slot1, middle, slot2, fork, low] = [26, 54, 88, 116, 152, 188, 218, 240];
    const slots = [[stream, slot0], [branch, slot1], [branch, slot2]];
    if (data.title) pen.text(0, 13, data.title, "title");
    const wire = (d) => pen.put("path", { d, class: "line plain", "stroke-width": 3 });
    wire(`M${round(stream)} ${low}V${top}m-5 7l5 -7l5 7`);
    wire(`M${round(stream)} ${fork}H${round(branch)}V${plus}H${round(stream + 10)}m7 -5l-7 5l7 5`);
    pen.put("circle", { cx: round(stream), cy: plus, r: 10, class: "knob" });
    pen.text(stream, plus + 5, "+", "word strong", "middle");
    const more = pen.put("text", { x: round(stream - 8), y: middle + 4, class: "word strong", "text-anchor": "end", opacity: round(data.more) }, "× α");
    setAttribute(more, "aria-hidden", data.more ? null : "true");
    const room = Math.min(96, 0.36 * width);
    for (const [x, y] of slots) pen.box(x - room / 2, y - NORM / 2, room, NORM, "slot", 8);
    for (const kind of ["ground", "card query"]) pen.box(branch - room / 2 - 8, middle - 15, room + 16, 30, kind, 6);
    pen.fitted(branch, middle + 5, data.sublayer, room + 10, "word");
    for (const norm of data.norms) {
      const [a, b] = [slots[Math.floor(norm)], slots[Math.ceil(norm)]];
      const [x, y] = [0, 1].map((n) => a[n] + (b[n] - a[n]) * (norm % 1));
      pen.box(x - room / 2, y - NORM / 2, room, NORM, "norm", 8);
      pen.text(x, y + 5, "norm", "word strong", "middle");
    }
  },
};

const TOWER = {
  height: () => LAYERS_HEIGHT,

  draw(pen, data, width) {
    const [top, low] = [44, LAYERS_HEIGHT - 20];
    const step = (low - top) / data.moved.length;
    const slab = 0.4 * width;
    const room = width - slab - 8;
    if (data.title) pen.fitted(0, 13, data.title, width, "title", "start");
    pen.box(0.5, top, slab, low - top, "before", 2);
    data.moved.forEach((share, n) => {
      pen.box(Math.min(1, share) * room, low - (n + 1) * step, slab, step - 1.5, "fill output weak", 2);
    });
    const last = Math.min(1, data.moved.at(-1)) * room;
    pen.text(last + slab / 2, top - 7, data.text, "number strong", "middle");
    if (data.note) pen.fitted(0, LAYERS_HEIGHT - 4, data.note, width, "note", "start");
  },
};
