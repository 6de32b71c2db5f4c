// A matrix as a table that is read by eye, pointer, keyboard and screen reader alike. Needs colour.js, shared.js,
// text.js, layout.js, table.js, figure.js and files.js.

class MatrixView {
  constructor(host) {
    this.root = el("figure", "matrix");
    setAttribute(this.root, "role", "group");
    setAttribute(this.root, "aria-labelledby", "title");
    this.title = el("figcaption", "title");
    this.title.id = "title";
    this.how = el("p", "how");
    this.how.id = "how";
    this.axes = el("p", "axes");
    this.axes.id = "axes";

    this.scroller = el("div", "scroller");
    const inner = el("div", "inner");
    this.table = new Table();
    this.wash = el("canvas", "wash");
    setAttribute(this.wash, "aria-hidden", "true");
    inner.append(this.wash, this.table.node);
    this.scroller.append(inner);

    this.readout = el("p", "readout");
    this.live = el("p", "unseen");
    setAttribute(this.live, "aria-live", "polite");
    this.root.append(this.title, this.how, this.axes, this.scroller, this.readout, this.live, this.foot());
    host.append(this.root);

    this.selection = new Selection();
    this.unheard = []; // choices that Python has not told it has seen
    this.hover = null;
    this.room = 0;
    this.listen();
    this.watch = new ResizeObserver(() => {
      const room = this.root.clientWidth;
      if (!room || !this.data || (room === this.room && this.unit === this.measureUnit())) return;
      this.room = room;
      this.draw();
    });
    this.watch.observe(this.root);
    this.fontsCame = () => {
      widths.clear();
      if (this.data) this.draw();
    };
    document.fonts.addEventListener("loadingdone", this.fontsCame);
  }

  close() {
    this.watch.disconnect();
    document.fonts.removeEventListener("loadingdone", this.fontsCame);
  }

  /** What the colours mean, and the downloads. */
  foot() {
    const foot = el("div", "foot");
    const legend = el("div", "legend");
    this.limits = el("span", "limits");
    setAttribute(this.limits, "role", "img");
    this.limits.append((this.low = el("span")), (this.bar = el("span", "bar")), (this.high = el("span")));
    this.maskedKey = el("span", "masked-key");
    this.maskedKey.append(el("i"), (this.maskedWord = el("span")));
    legend.append(this.limits, this.maskedKey);
    const tools = el("div", "tools");
    setAttribute(tools, "role", "group");
    setAttribute(tools, "aria-label", "Download");
    for (const kind of ["PNG", "SVG", "CSV"]) {
      const button = el("button", "", kind);
      button.type = "button";
      button.addEventListener("click", () => this.download(kind.toLowerCase()));
      tools.append(button);
    }
    foot.append(legend, tools);
    return foot;
  }

  /** Size of the text on this page: 1 where the browser's 16 px are left as they are. */
  measureUnit() {
    return parseFloat(getComputedStyle(this.root).fontSize) / 16;
  }

  listen() {
    const { table } = this;
    table.body.addEventListener("pointerover", (event) => this.point(table.placeOf(event)));
    table.body.addEventListener("pointerleave", () => this.point(null));
    table.body.addEventListener("focusin", (event) => {
      const cell = table.placeOf(event);
      if (!cell) return;
      table.rove(cell);
      this.focused = cell;
      this.name(cell);
      if (event.target.matches(":focus-visible")) setText(this.live, this.sentence(cell));
      this.read();
    });
    table.body.addEventListener("focusout", () => {
      this.focused = null;
      this.read();
    });
    table.body.addEventListener("click", (event) => {
      const cell = table.placeOf(event);
      if (cell) this.choose(cell);
    });
    table.body.addEventListener("keydown", (event) => {
      const cell = table.placeOf(event);
      if (!cell) return;
      if (event.key === "Enter" || event.key === " ") {
        this.choose(cell);
        event.preventDefault();
        return;
      }
      const to = moved(cell, event, table.height, table.width);
      if (!to) return;
      event.preventDefault();
      table.cell(to).focus();
    });
  }

  choose(cell) {
    // Of choices that come faster than it answers, Python hears the last alone; a cell may be a switch, so each counts.
    if (performance.now() - this.selection.since > 3000) this.unheard = []; // lost, and shown as lost: see Selection
    const choice = this.selection.choose(cell);
    this.send([...choice, ...this.unheard]);
    this.unheard.push(choice);
    this.revealed = [cell, this.size[1] * this.sizes.cell, this.room - this.sizes.rowWidth].join(); // it is in sight
    this.table.mark(cell);
    this.table.rove(cell);
    this.read();
  }

  /** The selected cell, or null. */
  get chosen() {
    return this.table.inside(this.selection.cell) ? this.selection.cell : null;
  }

  update(data) {
    const fresh = !this.data;
    this.data = data;
    this.size = [data.rows.length, data.columns.length];
    const bytes = bytesOf(data.values);
    this.values = new Float32Array(bytes.buffer, 0, data.rows.length * data.columns.length);
    this.hidden = data.hidden ? bytesOf(data.hidden) : null;
    this.rowLabels = data.rows.map(short);
    this.columnLabels = data.columns.map(short);
    this.group = data.group;

    setText(this.title, data.title);
    setText(this.how, data.how_to_read);
    this.how.hidden = !data.how_to_read;
    const axes = [data.row_axis && `↓ ${data.row_axis}`, data.column_axis && `→ ${data.column_axis}`].filter(Boolean);
    setText(this.axes, axes.join("\u2003"));
    this.axes.hidden = !axes.length;
    setText(this.maskedWord, data.hatched);
    this.maskedKey.hidden = !this.hidden?.some(Boolean);

    this.selection.adopt(data.selected, data.seen);
    this.unheard = this.unheard.filter(([, , number]) => number > data.seen);
    if (fresh || !this.room) this.room = this.root.clientWidth || 600;
    this.draw();
  }

  /** Everything on screen from this.data, touching only what differs from what is there. */
  draw() {
    const { data, table } = this;
    const palette = paletteOf(this.root);
    this.unit = this.measureUnit();
    this.touch = matchMedia("(hover: none)").matches;
    this.family = getComputedStyle(this.root).fontFamily;
    const repaint = palette !== this.palette;
    this.palette = palette;
    const hadFocus = this.focused;
    table.near(this.hover, false);
    table.fit(...this.size);
    if (!table.inside(this.hover)) this.hover = null;
    table.near(this.hover, true);

    const texts = this.texts();
    this.widest = texts.reduce((a, b) => (b.length > a.length ? b : a), "0").replace(/\d/g, "0");
    const sizes = (this.sizes = plan(this, this.room, this.unit));
    this.dress(sizes, repaint);
    table.label(sizes, this);

    const painted = sizes.mode === "tiny";
    if (painted) this.paint();
    const anew = repaint || this.scale !== data.scale;
    this.scale = data.scale;
    const levels = Array.from(this.values, (value, i) =>
      this.hidden?.[i] ? MASKED : painted ? PAINTED : levelOf(value, data.scale, data.limit),
    );
    table.colour(levels, sizes.mode === "numbers" ? texts : null, palette, palette.scales[data.scale], anew);
    table.divide(data.group);
    this.refocus(hadFocus);
    table.mark(this.selection.cell);
    this.read();
    this.reveal(); // last: it asks where things lie, and whatever is written after that is laid out once more
  }

  /** The numbers of all cells, from `start` until `end`. */
  texts(start = 0, end = this.values.length) {
    const { values, hidden, data } = this;
    return Array.from(values.subarray(start, end), (value, i) => (hidden?.[start + i] ? "" : numeral(value, data.digits)));
  }

  /** Where the table is wider than its room, scroll inside it to a selection that the page has made. */
  reveal() {
    const { cell, rowWidth, overhang } = this.sizes;
    const width = this.size[1] * cell;
    const free = this.room - rowWidth;
    const id = [this.chosen, width, free].join();
    if (id === this.revealed || !this.chosen || width + overhang <= free) return;
    this.revealed = id;
    const left = this.chosen[1] * cell;
    const { scrollLeft } = this.scroller;
    if (left < scrollLeft || left + cell > scrollLeft + free) this.scroller.scrollLeft = left - (free - cell) / 2;
  }

  /** The focus stays on its cell, or on the one nearest to it in a smaller table. */
  refocus(had) {
    const { table } = this;
    if (!had) {
      table.rove(this.chosen ?? [0, 0]);
      return;
    }
    const cell = [Math.min(had[0], table.height - 1), Math.min(had[1], table.width - 1)];
    table.rove(cell);
    const td = table.cell(cell);
    if (td.getRootNode().activeElement !== td) td.focus({ preventScroll: true });
    this.name(cell);
  }

  /** One pixel a cell, behind cells that are too many to be coloured one by one. */
  paint() {
    const { data, values, hidden, palette, wash } = this;
    const [height, width] = this.size;
    const picture = new ImageData(width, height);
    const out = new Uint32Array(picture.data.buffer);
    const { pixels } = palette.scales[data.scale];
    values.forEach((value, i) => {
      const level = levelOf(value, data.scale, data.limit);
      out[i] = hidden?.[i] ? 0 : level < 0 ? palette.neutralPixel : pixels[level];
    });
    wash.width = width;
    wash.height = height;
    wash.getContext("2d").putImageData(picture, 0, 0);
  }

  /** Sizes and theme colours, as custom properties that matrix.css reads. */
  dress(sizes, repaint) {
    const set = (name, value) => this.root.style.setProperty(name, value);
    const { palette, data } = this;
    const id = JSON.stringify([this.size, sizes]);
    if (id !== this.dressed) {
      this.dressed = id;
      this.root.dataset.mode = sizes.mode;
      this.root.dataset.angle = sizes.angle;
      this.root.dataset.every = sizes.every;
      this.table.reading.hidden = !sizes.readHeight;
      const pixels = {
        cell: sizes.cell, tall: sizes.tall, gap: sizes.gap / 2, foot: sizes.foot, overhang: sizes.overhang,
        "number-font": sizes.numberFont ?? 0, "row-font": sizes.rowFont, "column-font": sizes.columnFont,
        "row-width": sizes.rowWidth, "head-height": sizes.headHeight,
        "read-height": sizes.readHeight, "table-width": sizes.rowWidth + this.size[1] * sizes.cell,
        "cells-height": this.size[0] * sizes.tall,
      };
      for (const [name, value] of Object.entries(pixels)) set(`--${name}`, `${value}px`);
      set("--round", sizes.gap > 1 ? "4px" : sizes.gap ? "2px" : "0");
      set("--turn", `${-sizes.angle}deg`);
    }
    if (repaint) {
      for (const name of ["ground", "text", "muted", "border", "hatch"]) set(`--${name}`, palette[name]);
      set("--ring", palette.dark ? "#000" : "#fff");
    }
    const scale = palette.scales[data.scale];
    const bar = `linear-gradient(to right, ${scale.css.filter((_, i) => i % 16 === 0).join(",")})`;
    if (bar !== this.barDrawn) this.bar.style.backgroundImage = this.barDrawn = bar;
    const [low, high] = limits(data);
    setText(this.low, low);
    setText(this.high, high);
    setAttribute(this.limits, "aria-label", `Colours from ${low} to ${high}`);
  }

  /** The pointer is on `cell`, or on none. */
  point(cell) {
    this.table.near(this.hover, false);
    this.hover = cell;
    this.table.near(cell, true);
    this.read();
  }

  /** A cell without a number says its sentence when it has the focus. */
  name(cell) {
    if (this.sizes.mode !== "numbers" || this.hidden?.[cell[0] * this.table.width + cell[1]]) {
      this.table.name(cell, this.sentence(cell));
    }
  }

  sentence(cell) {
    return wordsOf(this, cell).map(([text]) => text).join("");
  }

  /** The line below: the cell under the pointer, else the one with the focus, else the selected one. */
  read() {
    const cell = this.hover ?? this.focused ?? this.selection.cell;
    const inside = this.table.inside(cell);
    if (this.sizes.readHeight) {
      const start = inside ? cell[0] * this.table.width : 0;
      const texts = inside ? this.texts(start, start + this.table.width) : [];
      this.table.readRow(inside ? this.rowLabels[cell[0]] : "", texts, cell?.[1]);
    }
    if (!inside) {
      this.readout.replaceChildren("Point at a cell to read its value.");
      this.readout.removeAttribute("title");
      return;
    }
    this.readout.replaceChildren(...wordsOf(this, cell).map(([text, strong]) => (strong ? el("strong", "", text) : text)));
    this.readout.title = this.sentence(cell);
  }

  async download(kind) {
    const make = {
      csv: () => new Blob([asCsv(this)], { type: "text/csv;charset=utf-8" }),
      svg: () => new Blob([asSvg(figureOf(this, this.axes.textContent))], { type: "image/svg+xml" }),
      png: () => asPng(figureOf(this, this.axes.textContent)),
    };
    save(await make[kind](), this.data.csv_name, kind);
  }
}

export default mount(MatrixView);
