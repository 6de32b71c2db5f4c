// Rows of cards with lines between them.

const CARD = 30; // pixels of height
const UPRIGHT = [44, 62]; // of cards narrower than this, whose words stand upright; and their height
const CELL = 6; // of one number in a column
const ACROSS = 3; // numbers side by side in a column
const THICKEST = 11;

const CARDS = {
  height(data, width) {
    return this.layout(data, width).height;
  },

  layout(data, width) {
    const named = data.rows.some((row) => row.name);
    const beside = named && width > 560;
    const left = beside ? 150 : 0;
    const count = Math.max(1, data.slots, ...data.rows.map((row) => row.cards.length));
    const slot = Math.min(124, (width - left) / count);
    const cut = data.rows.some((row) => !row.bare && row.cards.some((card) => [...card[0]].length > (slot - 14) / LETTER));
    const upright = slot < UPRIGHT[0] && cut;
    const high = upright ? UPRIGHT[1] : CARD;
    let y = data.title ? 20 : 4;
    const rows = data.rows.map((row, r) => {
      const arches = data.links.filter((l) => l[0] === r && l[2] === r && !(data.chain && Math.abs(l[1] - l[3]) === 1));
      const cells = Math.max(0, ...row.cards.map((card) => card[4].length));
      const place = { name: y };
      if (row.name && !beside) {
        place.enter = y - THICKEST / 2 - 1; // lines from the row above end there: their round ends reach to its name
        y += 17;
      }
      if (arches.length) y += Math.min(58, 14 + 8 * Math.max(...arches.map((l) => Math.abs(l[1] - l[3]))));
      place.column = y;
      if (cells) y += Math.ceil(cells / ACROSS) * CELL + 4;
      place.top = place.column;
      place.card = y;
      if (!row.bare) y += high;
      place.bar = y + 3;
      if (row.cards.some((card) => card[3] !== null)) y += 11;
      place.note = y + 13;
      if (row.cards.some((card) => card[2])) y += 17;
      place.bottom = y;
      y += data.links.some((l) => l[0] !== l[2] && Math.min(l[0], l[2]) === r) ? 62 : row.bare ? 6 : 12;
      return place;
    });
    return { left, slot, rows, beside, upright, high, height: y - 4 };
  },

  draw(pen, data, width, palette, drawn) {
    const at = this.layout(drawn ?? data, width);
    const middle = (i) => at.left + at.slot * (i + 0.5);
    if (data.title) pen.text(0, 13, data.title, "title");
    for (const [from, i0, to, i1, weight, role] of data.links) {
      const [r0, r1] = [from, to].map(Math.round); // on the way to another frame a line may change its rows
      const thick = { "stroke-width": round(0.6 + (THICKEST - 0.6) * weight), opacity: round(0.25 + 0.75 * weight) };
      pen.put("path", { d: this.path(data, at, middle, r0, i0, r1, i1), class: `line ${role}`, ...thick });
    }
    data.rows.forEach((row, r) => {
      const place = at.rows[r];
      if (row.name) pen.fitted(0, at.beside ? (row.bare ? place.bottom - 10 : place.card + at.high / 2 + 4) : place.name + 11, row.name, at.beside ? at.left : width, `name ${row.role}`, "start");
      const room = Math.min(at.slot - 6, 112);
      row.cards.forEach(([text, state, note, bar, column], i) => {
        const x = middle(i) - room / 2;
        this.column(pen, column, middle(i), place.card - 4, data, palette);
        if (row.bare) return;
        pen.box(x, place.card, room, at.high, `card ${row.role} ${state}`, 6);
        const [x0, y0] = at.upright ? [middle(i) + 4, place.card + at.high / 2] : [middle(i), place.card + 20];
        const turned = at.upright ? { transform: `rotate(-90 ${round(x0)} ${round(y0)})` } : {};
        pen.fitted(x0, y0, text, at.upright ? at.high - 6 : room - 8, `word ${state}`, "middle", turned);
        if (bar !== null) {
          pen.box(x, place.bar, room, 6, "room", 3);
          pen.box(x, place.bar, room * Math.min(1, bar), 6, `fill ${row.role}`, 3);
        }
        if (note) pen.fitted(middle(i), place.note, note, at.slot - 4, `note ${state}`);
      });
    });
  },

  column(pen, values, middle, bottom, data, palette) {
    const across = Math.min(ACROSS, values.length);
    const rows = Math.ceil(values.length / ACROSS);
    const high = data.tall ? (CELL * data.tall) / rows : CELL; // on the way to another frame the cells are stretched
    const whole = CELL * (data.whole ?? 0);
    if (whole && rows) pen.box(middle - (CELL * ACROSS) / 2 - 1, bottom - whole - 1, CELL * ACROSS + 2, whole + 2, "before", 2);
    values.forEach((value, n) => {
      const x = middle + ((n % ACROSS) - across / 2) * CELL;
      const cell = pen.box(x, bottom - (rows - Math.floor(n / ACROSS)) * high, CELL, high, "cell");
      cell.style.fill = palette.scales.signed.css[Math.max(0, levelOf(value, "signed", data.limit))];
    });
  },

  path(data, at, middle, r0, i0, r1, i1) {
    const [x0, x1] = [round(middle(i0)), round(middle(i1))];
    if (r0 === r1) {
      const { top, card } = at.rows[r0];
      if (data.chain && Math.abs(i0 - i1) === 1) return `M${x0} ${card + at.high / 2}L${x1} ${card + at.high / 2}`;
      const up = top - Math.min(54, 10 + 8 * Math.abs(i0 - i1)) * 1.3;
      return `M${x0} ${top}C${x0} ${up} ${x1} ${up} ${x1} ${top}`;
    }
    const [above, below] = r0 < r1 ? [at.rows[r0], at.rows[r1]] : [at.rows[r1], at.rows[r0]];
    const [upper, lower] = [above.bottom, below.enter ?? below.top];
    const [y0, y1] = r0 < r1 ? [upper, lower] : [lower, upper];
    const half = (y0 + y1) / 2;
    return `M${x0} ${y0}C${x0} ${half} ${x1} ${half} ${x1} ${y1}`;
  },

  /** Which card of the first row lies at a point. */
  hit(data, width, x, y) {
    const at = this.layout(data, width);
    const place = at.rows[0];
    const i = Math.floor((x - at.left) / at.slot);
    return y >= place.card && y <= place.card + at.high && i >= 0 && i < data.rows[0].cards.length ? i : -1;
  },
};
