// A matrix as a table that is read by eye, pointer, keyboard and screen reader alike. Needs colour.js and shared.js.

const LABEL_LENGTH = 14; // characters of a label that are shown; the full text is in its tooltip and the readout
const WORDS = { masked: "masked", nan: "not a number" };

function short(label) {
  const letters = Array.from(label);
  return letters.length > LABEL_LENGTH ? letters.slice(0, LABEL_LENGTH - 1).join("") + "…" : label;
}

const widths = new Map();

/** Width in pixels of `text` in `font` (a CSS font). */
function textWidth(text, font) {
  const id = font + "\n" + text;
  if (!widths.has(id)) {
    if (widths.size > 5000) widths.clear();
    pen.font = font;
    widths.set(id, pen.measureText(text).width);
  }
  return widths.get(id);
}

/** `value` with a fixed number of decimals, a real minus sign and no minus before zero. */
function numeral(value, digits) {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? "−" + text : text;
}

/** The shortest decimal that gives this float32 back. */
function exact(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  for (let n = 1; n < 9; n++) {
    const short = Number(value.toPrecision(n));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(9)));
}

/**
 * Sizes in pixels that suit a matrix on `room` pixels of width.
 * mode: "numbers" (a number in every cell), "plain" (colour alone), "tiny" (colour alone, cells touch).
 */
function plan(view, room, unit) {
  const { height, width, rowLabels, columnLabels, widest, family } = view;
  const px = (n) => Math.round(n * unit);
  const font = (size, weight = "") => `${weight} ${size}px ${family}`;
  const rowFont = px(13);
  const widestRow = Math.max(0, ...rowLabels.map((t) => textWidth(t, font(rowFont, 600))));
  const rowWidth = Math.ceil(Math.min(widestRow + px(12), Math.max(px(48), room * 0.32)));
  const free = (overhang) => room - rowWidth - overhang - 4;
  let mode, cell, tall, gap, numberFont;

  const need = (size) => Math.ceil(textWidth(widest, font(size))) + px(size > 11 ? 10 : 7);
  let share = Math.floor(free(px(18)) / width);
  numberFont = [px(13), px(12), px(11), px(10)].find((size) => need(size) <= share);
  if (!numberFont && width <= 6) numberFont = px(11);
  if (width <= 16 && numberFont) {
    mode = "numbers";
    gap = 2;
    cell = Math.max(need(numberFont), Math.min(share, Math.max(px(48), need(px(13)))));
    tall = Math.max(px(height > 16 ? 20 : 26), Math.min(cell, px(48), Math.floor(px(440) / height)));
  } else if (width <= 40) {
    mode = "plain";
    share = Math.floor(free(px(24)) / width);
    cell = Math.max(px(12), Math.min(share, px(30), Math.max(Math.floor(px(560) / height), px(14))));
    gap = cell >= 16 ? 2 : 1;
    tall = cell;
  } else {
    mode = "tiny";
    cell = Math.max(3, Math.min(share, px(12)));
    gap = 0;
    tall = Math.max(px(12), Math.min(px(28), Math.floor(px(320) / height)));
  }

  const columnFont = Math.min(px(13), Math.max(px(11), cell - 4));
  const line = columnFont * 1.3;
  const labelWidths = columnLabels.map((t) => textWidth(t, font(columnFont, 600)));
  const longest = Math.max(0, ...labelWidths);
  let angle = 0;
  let every = 1;
  if (longest > cell - 4) {
    angle = [45, 60, 90].find((a) => cell * Math.sin((a * Math.PI) / 180) >= columnFont * (a === 90 ? 0.95 : 1.02)) ?? -1;
  }
  if (angle === -1) {
    angle = 0;
    every = Math.ceil((longest + px(14)) / cell);
    every = [1, 2, 5, 10, 16, 20, 32, 50, 64, 100, 128].find((n) => n >= every) ?? every;
    if (view.data.group) every = Math.ceil(every / view.data.group) * view.data.group; // a label begins a group
  }
  const sin = Math.sin((angle * Math.PI) / 180);
  const cos = Math.cos((angle * Math.PI) / 180);
  const foot = angle ? 3 + (line / 2) * cos : 4;
  let headHeight = Math.ceil(line + 6);
  let overhang = 4;
  const right = (j) => (width - j) * cell - cell / 2;
  if (angle) {
    headHeight = Math.ceil(longest * sin + (line / 2) * cos + foot + 2);
    labelWidths.forEach((w, j) => (overhang = Math.max(overhang, w * cos + (line / 2) * sin - right(j) + 3)));
  } else if (every > 1) {
    labelWidths.forEach((w, j) => j % every || (overhang = Math.max(overhang, w - right(j) + 3)));
  }
  return {
    mode, cell, tall, gap, numberFont, rowFont: Math.min(rowFont, Math.max(px(10), tall - 2)), rowWidth, columnFont,
    angle, every, rowEvery: Math.max(1, Math.ceil((10 * unit) / tall)), headHeight, overhang: Math.ceil(overhang), foot, line, sin, cos,
  };
}

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
    this.table = el("table");
    setAttribute(this.table, "role", "grid");
    setAttribute(this.table, "aria-labelledby", "title");
    setAttribute(this.table, "aria-describedby", "how axes");
    const columns = el("colgroup");
    columns.append(el("col", "row-labels"), (this.span = el("col", "cells")));
    const head = el("thead");
    this.head = el("tr");
    this.head.append(el("td", "corner"));
    head.append(this.head);
    this.body = el("tbody");
    this.table.append(columns, head, this.body);
    this.wash = el("canvas", "wash");
    setAttribute(this.wash, "aria-hidden", "true");
    inner.append(this.wash, this.table);
    this.scroller.append(inner);

    this.readout = el("p", "readout");
    this.live = el("p", "unseen");
    setAttribute(this.live, "aria-live", "polite");

    const foot = el("div", "foot");
    const legend = el("div", "legend");
    this.limit = el("span", "limits");
    setAttribute(this.limit, "role", "img");
    this.limit.append((this.low = el("span")), (this.bar = el("span", "bar")), (this.high = el("span")));
    this.maskedKey = el("span", "masked-key");
    this.maskedKey.append(el("i"), "masked");
    legend.append(this.limit, this.maskedKey);
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
    this.root.append(this.title, this.how, this.axes, this.scroller, this.readout, this.live, foot);
    host.append(this.root);

    this.selection = new Selection();
    this.roving = [0, 0]; // the cell that Tab enters
    this.height = this.width = 0;
    this.cells = []; // td elements, row by row
    this.shown = []; // what each cell shows: level, or -1 neutral, -2 masked, -4 what is painted behind it
    this.named = []; // cells that have been given a sentence as their name
    this.marked = null; // the selected cell as drawn
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
    this.root.remove();
  }

  /** Size of the text on this page: 1 where the browser's 16 px are left as they are. */
  measureUnit() {
    return parseFloat(getComputedStyle(this.root).fontSize) / 16;
  }

  listen() {
    const cellOf = (event) => {
      const td = event.target.closest?.("tbody td");
      return td ? [td.parentNode.rowIndex - 1, td.cellIndex - 1] : null;
    };
    this.body.addEventListener("pointerover", (event) => this.point(cellOf(event)));
    this.body.addEventListener("pointerleave", () => this.point(null));
    this.body.addEventListener("focusin", (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      this.rove(cell);
      this.focused = cell;
      this.name(cell);
      if (event.target.matches(":focus-visible")) setText(this.live, this.sentence(cell));
      this.read();
    });
    this.body.addEventListener("focusout", () => {
      this.focused = null;
      this.read();
    });
    this.body.addEventListener("click", (event) => {
      const cell = cellOf(event);
      if (cell) this.choose(cell);
    });
    this.body.addEventListener("keydown", (event) => {
      const cell = cellOf(event);
      if (!cell) return;
      if (event.key === "Enter" || event.key === " ") {
        this.choose(cell);
        event.preventDefault();
        return;
      }
      const to = moved(cell, event, this.height, this.width);
      if (!to) return;
      event.preventDefault();
      this.cell(to).focus();
    });
  }

  cell([row, column]) {
    return this.cells[row * this.width + column];
  }

  choose(cell) {
    this.send(this.selection.choose(cell));
    this.mark();
    this.rove(cell);
    this.read();
  }

  /** Make `cell` the one that Tab enters. */
  rove(cell) {
    const before = this.cell(this.roving);
    if (before) before.tabIndex = -1;
    this.roving = cell;
    this.cell(cell).tabIndex = 0;
  }

  update(data) {
    const fresh = !this.data;
    this.data = data;
    const height = data.rows.length;
    const width = data.columns.length;
    const bytes = bytesOf(data.values);
    this.values = new Float32Array(bytes.buffer, 0, height * width);
    this.hidden = data.hidden ? bytesOf(data.hidden) : null;
    this.rowLabels = data.rows.map(short);
    this.columnLabels = data.columns.map(short);
    this.size = [height, width];

    setText(this.title, data.title);
    setText(this.how, data.how_to_read);
    this.how.hidden = !data.how_to_read;
    const axes = [data.row_axis && `↓ ${data.row_axis}`, data.column_axis && `→ ${data.column_axis}`].filter(Boolean);
    setText(this.axes, axes.join("\u2003"));
    this.axes.hidden = !axes.length;
    this.maskedKey.hidden = !this.hidden?.some(Boolean);

    this.selection.adopt(data.selected, data.seen);
    if (fresh || !this.room) this.room = this.root.clientWidth || 600;
    this.draw();
  }

  /** Everything on screen from this.data, touching only what differs from what is there. */
  draw() {
    const { data, values, hidden } = this;
    const palette = paletteOf(this.root);
    this.unit = this.measureUnit();
    this.family = getComputedStyle(this.root).fontFamily;
    const repaint = palette !== this.palette;
    this.palette = palette;
    const hadFocus = this.focused;
    this.fit(...this.size);

    let longest = "";
    if (this.width <= 16) {
      this.texts = Array.from(values, (v, i) => (hidden?.[i] ? "" : numeral(v, data.digits)));
      longest = this.texts.reduce((a, b) => (b.length > a.length ? b : a), "0");
    }
    this.widest = longest.replace(/\d/g, "0");
    const sizes = (this.sizes = plan(this, this.room, this.unit));
    this.dress(sizes, repaint);
    this.label(sizes);

    const numbers = sizes.mode === "numbers";
    const painted = sizes.mode === "tiny";
    if (painted) this.paint();
    this.named.splice(0).forEach((td) => td.removeAttribute("aria-label"));
    const scale = palette.scales[data.scale];
    const kind = data.scale;
    if (repaint || this.kind !== kind) this.shown.fill(-3);
    this.kind = kind;
    for (let i = 0; i < values.length; i++) {
      const td = this.cells[i];
      const level = hidden?.[i] ? -2 : painted ? -4 : levelOf(values[i], kind, data.limit);
      if (level !== this.shown[i]) {
        if ((level === -2) !== (this.shown[i] === -2)) td.classList.toggle("masked", level === -2);
        td.style.backgroundColor = level >= 0 ? scale.css[level] : level === -1 ? palette.neutral : "";
        td.style.color = level >= 0 ? scale.ink[level] : "";
        this.shown[i] = level;
      }
      if (numbers || this.numbered) setText(td, numbers ? this.texts[i] : "");
    }
    this.numbered = numbers;
    this.divide();

    if (hadFocus) {
      const cell = [Math.min(hadFocus[0], this.height - 1), Math.min(hadFocus[1], this.width - 1)];
      this.rove(cell);
      const td = this.cell(cell);
      if (td.getRootNode().activeElement !== td) td.focus({ preventScroll: true });
      this.name(cell);
    } else {
      this.rove(this.inside(this.selection.cell) ? this.selection.cell : [0, 0]);
    }
    this.mark();
    this.read();
  }

  /** One pixel a cell, behind cells that are too many to be coloured one by one. */
  paint() {
    const { data, values, hidden, width, height, palette, wash } = this;
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

  /** A line before the first column of every group but the first. */
  divide() {
    const { group } = this.data;
    const id = [group, this.height, this.width].join();
    if (id === this.divided || !(group || this.divided)) return;
    this.divided = id;
    this.cells.forEach((td, i) => {
      const j = i % this.width;
      td.classList.toggle("begins", Boolean(group && j && j % group === 0));
    });
  }

  inside(cell) {
    return cell && cell[0] < this.height && cell[1] < this.width;
  }

  /** Add or remove rows and cells until the table is `height` by `width`; what stays keeps its elements. */
  fit(height, width) {
    if (height === this.height && width === this.width) return;
    const pad = (parent, count, make) => {
      while (parent.children.length > count) parent.lastChild.remove();
      while (parent.children.length < count) parent.append(make());
    };
    const header = (scope) => () => {
      const th = el("th");
      th.scope = scope;
      th.append(el("span"));
      return th;
    };
    const make = () => {
      const td = el("td");
      td.tabIndex = -1;
      return td;
    };
    const row = () => {
      const tr = el("tr");
      tr.append(header("row")());
      for (let j = 0; j < width; j++) tr.append(make());
      return tr;
    };
    this.mark(null);
    this.near(this.hover, false);
    pad(this.head, width + 1, header("col"));
    pad(this.body, height, row);
    const cells = [];
    const shown = [];
    for (let i = 0; i < height; i++) {
      const tr = this.body.children[i];
      pad(tr, width + 1, make);
      for (let td = tr.children[1], j = 0; td; td = td.nextSibling, j++) {
        cells.push(td);
        shown.push(i < this.height && j < this.width ? this.shown[i * this.width + j] : -3);
      }
    }
    this.span.span = width;
    this.cells = cells;
    this.shown = shown;
    this.height = height;
    this.width = width;
    this.rowHeads = [...this.body.children].map((tr) => tr.firstChild);
    this.columnHeads = [...this.head.children].slice(1);
    if (!this.inside(this.hover)) this.hover = null;
    this.near(this.hover, true);
  }

  /** Sizes and theme colours, as custom properties that matrix.css reads. */
  dress(sizes, repaint) {
    const set = (name, value) => this.root.style.setProperty(name, value);
    const { palette, data } = this;
    const id = JSON.stringify(sizes);
    if (id !== this.dressed) {
      this.dressed = id;
      this.root.dataset.mode = sizes.mode;
      this.root.dataset.angle = sizes.angle;
      this.root.dataset.every = sizes.every;
      set("--cell", `${sizes.cell}px`);
      set("--tall", `${sizes.tall}px`);
      set("--gap", `${sizes.gap / 2}px`);
      set("--round", sizes.gap > 1 ? "4px" : sizes.gap ? "2px" : "0");
      set("--number-font", `${sizes.numberFont ?? 0}px`);
      set("--row-font", `${sizes.rowFont}px`);
      set("--column-font", `${sizes.columnFont}px`);
      set("--row-width", `${sizes.rowWidth}px`);
      set("--table-width", `${sizes.rowWidth + this.size[1] * sizes.cell}px`);
      set("--head-height", `${sizes.headHeight}px`);
      set("--overhang", `${sizes.overhang}px`);
      set("--turn", `${-sizes.angle}deg`);
      set("--foot", `${sizes.foot}px`);
    }
    if (repaint) {
      for (const name of ["ground", "text", "muted", "border", "hatch"]) set(`--${name}`, palette[name]);
      set("--ring", palette.dark ? "#000" : "#fff");
    }
    const scale = palette.scales[data.scale];
    const bar = `linear-gradient(to right, ${scale.css.filter((_, i) => i % 16 === 0).join(",")})`;
    if (bar !== this.barDrawn) this.bar.style.backgroundImage = this.barDrawn = bar;
    const [low, high] = this.limits();
    setText(this.low, low);
    setText(this.high, high);
    setAttribute(this.limit, "aria-label", `Colours from ${low} to ${high}`);
  }

  limits() {
    const { scale, limit, digits } = this.data;
    if (scale === "weight") return ["0", "1"];
    const most = limit < 10 ** -digits ? limit.toExponential(1).replace("-", "−") : numeral(limit, digits);
    return [scale === "signed" ? "−" + most : "0", most];
  }

  label(sizes) {
    const put = (th, text, full, visible) => {
      const span = th.firstChild;
      setText(span, text);
      setAttribute(span, "title", full === text ? null : full);
      span.classList.toggle("unseen", !visible);
    };
    this.columnHeads.forEach((th, j) => put(th, this.columnLabels[j], this.data.columns[j], j % sizes.every === 0));
    this.rowHeads.forEach((th, i) => put(th, this.rowLabels[i], this.data.rows[i], i % sizes.rowEvery === 0));
  }

  /** Draw the selection, or take it away with `mark(null)`. */
  mark(cell = this.selection.cell) {
    const turn = (at, on) => {
      if (!this.inside(at)) return;
      const td = this.cell(at);
      td.classList.toggle("selected", on);
      setAttribute(td, "aria-selected", on ? "true" : null);
      this.rowHeads[at[0]].classList.toggle("selected", on);
      this.columnHeads[at[1]].classList.toggle("selected", on);
    };
    if (this.marked) turn(this.marked, false);
    this.marked = cell;
    if (cell) turn(cell, true);
  }

  /** The pointer is on `cell`, or on none. */
  point(cell) {
    this.near(this.hover, false);
    this.hover = cell;
    this.near(cell, true);
    this.read();
  }

  near(cell, on) {
    if (!this.inside(cell)) return;
    this.rowHeads[cell[0]].classList.toggle("near", on);
    this.columnHeads[cell[1]].classList.toggle("near", on);
  }

  /** A cell without a number says its sentence when it has the focus. */
  name(cell) {
    if (this.sizes.mode !== "numbers" || this.hidden?.[cell[0] * this.width + cell[1]]) {
      setAttribute(this.cell(cell), "aria-label", this.sentence(cell));
      this.named.push(this.cell(cell));
    }
  }

  sentence(cell) {
    return this.words(cell).map(([text]) => text).join("");
  }

  /** What a cell says, as [text, strong?] pieces. */
  words([row, column]) {
    const { data, hidden, values, width } = this;
    const i = row * width + column;
    const value = hidden?.[i] ? WORDS.masked : Number.isNaN(values[i]) ? WORDS.nan : numeral(values[i], 4);
    const name = data.value_names?.[row]?.[column] ?? "";
    const fill = { row: data.rows[row], column: data.columns[column], value, name };
    const pieces = data.describe.split(/\{(row|column|value|name)\}/);
    const said = pieces.map((piece, k) => (k % 2 ? [fill[piece], piece === "value"] : [piece, false]));
    if (name && !pieces.includes("name")) said.push([` (${name})`, false]);
    return said;
  }

  /** The line below: the cell under the pointer, else the one with the focus, else the selected one. */
  read() {
    const cell = this.hover ?? this.focused ?? this.selection.cell;
    if (!this.inside(cell)) {
      this.readout.replaceChildren("Point at a cell to read its value.");
      this.readout.removeAttribute("title");
      return;
    }
    const words = this.words(cell);
    this.readout.replaceChildren(...words.map(([text, strong]) => (strong ? el("strong", "", text) : text)));
    this.readout.title = this.sentence(cell);
  }

  download(kind) {
    const name = (this.data.csv_name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "").slice(0, 80) || "matrix");
    const save = (blob) => {
      const link = el("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${name}.${kind}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    };
    if (kind === "csv") save(new Blob([this.csv()], { type: "text/csv;charset=utf-8" }));
    else if (kind === "svg") save(new Blob([asSvg(this.picture())], { type: "image/svg+xml" }));
    else asCanvas(this.picture()).toBlob(save, "image/png");
  }

  /** Labels that a spreadsheet could take for a formula get an apostrophe; masked cells are empty. */
  csv() {
    const quote = (text) => `"${(/^[=+\-@\t\r]/.test(text) ? "'" + text : text).replaceAll('"', '""')}"`;
    const { data, values, hidden, width } = this;
    const lines = [["", ...data.columns].map(quote).join(",")];
    data.rows.forEach((label, i) => {
      const numbers = data.columns.map((_, j) => (hidden?.[i * width + j] ? "" : exact(values[i * width + j])));
      lines.push([quote(label), ...numbers].join(","));
    });
    return "\ufeff" + lines.join("\r\n") + "\r\n"; // the mark lets spreadsheets see that it is UTF-8
  }

  /** The figure as rectangles, lines and texts, for SVG and PNG alike; as wide as its content wants. */
  picture() {
    const { data, palette, values, hidden, width, height, family } = this;
    const s = plan(this, 960, 1);
    const shapes = [];
    const edge = 20;
    const rect = (x, y, w, h, fill, round = 0, stroke = null, line = 0) =>
      shapes.push({ kind: "rect", x, y, w, h, fill, round, stroke, line });
    const text = (x, y, words, size, fill, options = {}) =>
      shapes.push({ kind: "text", x, y, text: words, size, fill, anchor: "start", weight: 400, turn: 0, ...options });
    const hatch = (x, y, w, h) => {
      const lines = [];
      for (let d = 3; d < w + h; d += 7) {
        lines.push([x + Math.max(0, d - h), y + Math.min(d, h), x + Math.min(d, w), y + Math.max(0, d - w)]);
      }
      shapes.push({ kind: "lines", lines, stroke: palette.hatch });
    };
    const wide = (words, size, weight) => textWidth(words, `${weight} ${size}px ${family}`);

    let y = edge;
    let right = s.rowWidth + width * s.cell + s.overhang;
    const line = (words, size, weight, fill) => {
      if (!words) return;
      text(edge, y + size * 0.7, words, size, fill, { weight });
      right = Math.max(right, wide(words, size, weight));
      y += size * 1.6;
    };
    line(data.title, 16, 600, palette.text);
    line(data.how_to_read, 13, 400, palette.muted);
    line(this.axes.textContent, 12, 400, palette.muted);
    y += s.headHeight;
    const x = edge + s.rowWidth;
    const at = this.inside(this.selection.cell) ? this.selection.cell : [-1, -1];

    data.columns.forEach((_, j) => {
      if (j % s.every) return;
      const left = !s.angle && s.every > 1;
      text(x + (j + 0.5) * s.cell, y - s.foot - (s.angle ? 0 : s.line / 2), this.columnLabels[j], s.columnFont, j === at[1] ? palette.text : palette.muted, {
        turn: -s.angle, anchor: s.angle || left ? "start" : "middle", weight: j === at[1] ? 600 : 400,
      });
    });
    const scale = palette.scales[data.scale];
    for (let i = 0; i < height; i++) {
      if (i % s.rowEvery === 0) {
        text(x - 8, y + (i + 0.5) * s.tall, this.rowLabels[i], s.rowFont, i === at[0] ? palette.text : palette.muted, {
          anchor: "end", weight: i === at[0] ? 600 : 400,
        });
      }
      for (let j = 0; j < width; j++) {
        const k = i * width + j;
        const [cx, cy, w, h] = [x + j * s.cell + s.gap / 2, y + i * s.tall + s.gap / 2, s.cell - s.gap, s.tall - s.gap];
        const level = levelOf(values[k], data.scale, data.limit);
        if (hidden?.[k]) {
          hatch(cx, cy, w, h);
          continue;
        }
        rect(cx, cy, w, h, level < 0 ? palette.neutral : scale.css[level], s.gap);
        if (s.mode === "numbers") {
          const ink = level < 0 ? palette.text : scale.ink[level];
          text(cx + w / 2, cy + h / 2, numeral(values[k], data.digits), s.numberFont, ink, { anchor: "middle" });
        }
      }
    }
    for (let j = data.group; data.group && j < width; j += data.group) {
      rect(x + j * s.cell - 1, y - 4, 2, height * s.tall + 4, palette.text);
    }
    if (at[0] >= 0) rect(x + at[1] * s.cell, y + at[0] * s.tall, s.cell, s.tall, "none", s.gap + 1, "#E69F00", 3);

    y += height * s.tall + 20;
    const [low, high] = this.limits();
    const lowWidth = wide(low, 12, 400);
    text(x, y, low, 12, palette.muted);
    for (let i = 0; i < 64; i++) rect(x + lowWidth + 8 + i * 2, y - 5, 2.2, 10, scale.css[Math.round((i / 63) * LEVELS)]);
    text(x + lowWidth + 8 + 136, y, high, 12, palette.muted);
    let end = x + lowWidth + 8 + 136 + wide(high, 12, 400);
    if (!this.maskedKey.hidden) {
      hatch(end + 20, y - 6, 12, 12);
      text(end + 38, y, WORDS.masked, 12, palette.muted);
      end += 38 + wide(WORDS.masked, 12, 400);
    }
    right = Math.max(right, end - edge);
    return { width: Math.ceil(right + 2 * edge), height: Math.ceil(y + edge), ground: palette.ground, family, shapes };
  }
}

function asSvg({ width, height, ground, family, shapes }) {
  const safe = (text) =>
    String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "�");
  const n = (value) => Number(value.toFixed(2));
  const draw = {
    rect: (s) =>
      `<rect x="${n(s.x)}" y="${n(s.y)}" width="${n(s.w)}" height="${n(s.h)}" rx="${s.round}" fill="${safe(s.fill)}"` +
      (s.stroke ? ` stroke="${safe(s.stroke)}" stroke-width="${s.line}"/>` : "/>"),
    lines: (s) => `<path d="${s.lines.map((l) => `M${n(l[0])} ${n(l[1])}L${n(l[2])} ${n(l[3])}`).join("")}" stroke="${safe(s.stroke)}"/>`,
    text: (s) =>
      `<text x="${n(s.x)}" y="${n(s.y)}" font-size="${s.size}" fill="${safe(s.fill)}" text-anchor="${s.anchor}"` +
      ` font-weight="${s.weight}" dominant-baseline="central"` +
      (s.turn ? ` transform="rotate(${s.turn} ${n(s.x)} ${n(s.y)})"` : "") + `>${safe(s.text)}</text>`,
  };
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `font-family="${safe(family)}"><rect width="100%" height="100%" fill="${safe(ground)}"/>` +
    shapes.map((s) => draw[s.kind](s)).join("") + "</svg>"
  );
}

function asCanvas({ width, height, ground, family, shapes }) {
  const canvas = document.createElement("canvas");
  const zoom = Math.min(2, 8000 / Math.max(width, height));
  canvas.width = width * zoom;
  canvas.height = height * zoom;
  const c = canvas.getContext("2d");
  c.scale(zoom, zoom);
  c.fillStyle = ground;
  c.fillRect(0, 0, width, height);
  c.textBaseline = "middle";
  const draw = {
    rect(s) {
      c.beginPath();
      c.roundRect(s.x, s.y, s.w, s.h, s.round);
      if (s.fill !== "none") {
        c.fillStyle = s.fill;
        c.fill();
      }
      if (s.stroke) {
        c.strokeStyle = s.stroke;
        c.lineWidth = s.line;
        c.stroke();
      }
    },
    lines(s) {
      c.beginPath();
      for (const [x1, y1, x2, y2] of s.lines) {
        c.moveTo(x1, y1);
        c.lineTo(x2, y2);
      }
      c.strokeStyle = s.stroke;
      c.lineWidth = 1;
      c.stroke();
    },
    text(s) {
      c.save();
      c.translate(s.x, s.y);
      c.rotate((s.turn * Math.PI) / 180);
      c.font = `${s.weight} ${s.size}px ${family}`;
      c.textAlign = s.anchor === "middle" ? "center" : s.anchor;
      c.fillStyle = s.fill;
      c.fillText(s.text, 0, 0);
      c.restore();
    },
  };
  for (const shape of shapes) draw[shape.kind](shape);
  return canvas;
}

export default mount(MatrixView);
