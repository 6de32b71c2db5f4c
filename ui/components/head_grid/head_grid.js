// One small map for each layer and head, each a button. Needs colour.js and shared.js.

const MEAN = -1;

class HeadGridView {
  constructor(host) {
    this.root = el("figure", "heads");
    setAttribute(this.root, "role", "group");
    setAttribute(this.root, "aria-labelledby", "title");
    this.title = el("figcaption", "title");
    this.title.id = "title";
    this.grid = el("div", "grid");
    this.grid.dataset.arrows = "move"; // the presenter's keys leave it alone
    this.root.append(this.title, this.grid);
    host.append(this.root);
    this.selection = new Selection();
    this.buttons = [];
    this.rows = this.columns = 0;
    this.roving = [0, 0]; // [row, column] of the button that Tab enters
    this.listen();
    this.watch = new ResizeObserver(() => {
      if (this.data && this.pixels() !== this.drawnPixels) this.paint();
    });
    this.watch.observe(this.root);
  }

  close() {
    this.watch.disconnect();
  }

  listen() {
    const placeOf = (event) => {
      const at = this.buttons.indexOf(event.target.closest?.("button"));
      return at < 0 ? null : [Math.floor(at / this.columns), at % this.columns];
    };
    this.grid.addEventListener("click", (event) => {
      const place = placeOf(event);
      if (!place) return;
      this.send(this.selection.choose(this.cellAt(place)));
      this.rove(place);
      this.mark();
    });
    this.grid.addEventListener("focusin", (event) => {
      const place = placeOf(event);
      if (place) this.rove(place);
    });
    this.grid.addEventListener("keydown", (event) => {
      const place = placeOf(event);
      const to = place && moved(place, event, this.rows, this.columns);
      if (!to) return;
      event.preventDefault();
      this.button(to).focus();
    });
  }

  /** (layer, head) for Python of the button at [row, column], and back. */
  cellAt([row, column]) {
    return [row, this.data.mean && column === this.columns - 1 ? MEAN : column];
  }

  placeOf([layer, head]) {
    return [layer, head === MEAN ? this.columns - 1 : head];
  }

  button([row, column]) {
    return this.buttons[row * this.columns + column];
  }

  rove(place) {
    const before = this.button(this.roving);
    if (before) before.tabIndex = -1;
    this.roving = place;
    this.button(place).tabIndex = 0;
  }

  update(data) {
    this.data = data;
    this.maps = bytesOf(data.maps);
    setText(this.title, data.title);
    this.title.hidden = !data.title;
    this.selection.adopt(data.selected, data.seen);
    const columns = data.heads + (data.mean ? 1 : 0);
    const labels = [data.layers, columns, data.mean, data.row_label, !data.captions].join("\n");
    if (labels !== this.labels) {
      this.labels = labels;
      this.build(data.layers, columns);
    }
    const active = this.buttons.indexOf(this.grid.getRootNode().activeElement);
    const chosen = this.selection.cell && this.placeOf(this.selection.cell);
    if (active < 0) this.rove(chosen && this.button(chosen) ? chosen : [0, 0]); // another model may have fewer heads
    this.mark();
    this.paint();
  }

  build(rows, columns) {
    const { data } = this;
    const focused = this.buttons.indexOf(this.grid.getRootNode().activeElement);
    const place = focused < 0 ? null : [Math.floor(focused / this.columns), focused % this.columns];
    this.rows = rows;
    this.columns = columns;
    this.roving = [0, 0];
    this.root.style.setProperty("--columns", columns);
    this.root.classList.toggle("captioned", Boolean(data.captions));
    const nodes = [el("span")];
    this.names = [];
    const heads = Array.from({ length: data.heads }, (_, j) => `head ${j + 1}`);
    const spoken = data.mean ? [...heads, "average of all heads"] : heads;
    for (const name of data.mean ? [...heads, "average"] : heads) nodes.push(this.header("column", name));
    this.buttons = [];
    for (let i = 0; i < rows; i++) {
      const rowName = data.row_label && `${data.row_label} ${i + 1}`;
      nodes.push(this.header("row", rowName));
      for (let j = 0; j < columns; j++) {
        const button = el("button");
        button.type = "button";
        button.tabIndex = -1;
        const canvas = el("canvas");
        canvas.setAttribute("aria-hidden", "true");
        button.append(canvas);
        if (data.captions) button.append(el("span", "caption"));
        this.buttons.push(button);
        this.names.push([rowName, spoken[j]].filter(Boolean).join(", "));
        nodes.push(button);
      }
    }
    this.grid.replaceChildren(...nodes);
    this.headers = nodes.filter((node) => node.tagName === "SPAN" && node.className);
    if (place) this.button([Math.min(place[0], rows - 1), Math.min(place[1], columns - 1)]).focus({ preventScroll: true });
  }

  header(kind, name) {
    const span = el("span", kind);
    // Two words that may break between them: "layer 3".
    const cut = name.lastIndexOf(" ");
    if (cut > 0) span.append(el("span", "word", name.slice(0, cut)), " ", el("span", "number", name.slice(cut + 1)));
    else span.append(el("span", "word", name));
    span.setAttribute("aria-hidden", "true"); // every button says its own layer and head
    return span;
  }

  mark() {
    const { cell } = this.selection;
    const at = cell ? this.placeOf(cell) : [-1, -1];
    this.buttons.forEach((button, i) => {
      const on = i === at[0] * this.columns + at[1];
      setAttribute(button, "aria-pressed", String(on));
      const caption = this.data.captions?.[Math.floor(i / this.columns)][i % this.columns];
      const name = caption ? `${this.names[i]}: ${caption}` : this.names[i];
      if (caption) setText(button.lastChild, caption);
      setAttribute(button, "aria-label", name + (on ? ", selected" : ""));
      setAttribute(button, "title", name);
    });
    this.headers.forEach((header, i) => {
      header.classList.toggle("selected", i < this.columns ? i === at[1] : i - this.columns === at[0]);
    });
  }

  /** Device pixels along the side of a map. */
  pixels() {
    const side = this.buttons[0]?.firstChild.clientWidth || 48;
    return Math.max(8, Math.round(side * (devicePixelRatio || 1)));
  }

  /** For each of `n` pixels: the first and the last of `count` cells it shows, and whether it lies between two. */
  static spread(n, count, gap) {
    const first = new Int32Array(n);
    const last = new Int32Array(n);
    const between = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
      first[i] = Math.floor((i * count) / n);
      last[i] = Math.max(first[i], Math.ceil(((i + 1) * count) / n) - 1);
      if (count <= n) last[i] = first[i];
    }
    if (n / count >= 5 * gap) {
      for (let i = 0; i < n - gap; i++) if (first[i] !== first[i + gap]) between[i] = 1;
    }
    return { first, last, between };
  }

  /** Every map at the resolution of the screen. Where cells are smaller than a pixel, the strongest is shown. */
  paint() {
    const { data, maps } = this;
    const palette = paletteOf(this.root);
    if (palette !== this.palette) {
      this.palette = palette;
      for (const name of ["ground", "text", "muted", "border"]) this.root.style.setProperty(`--${name}`, palette[name]);
    }
    const n = (this.drawnPixels = this.pixels());
    const gap = Math.max(1, Math.round(devicePixelRatio || 1));
    const across = HeadGridView.spread(n, data.width, gap);
    const down = HeadGridView.spread(n, data.height, gap);
    const colours = Uint32Array.from({ length: 256 }, (_, b) => palette.scales.weight.pixels[Math.round((b / 255) * LEVELS)]);
    const picture = new ImageData(n, n);
    const out = new Uint32Array(picture.data.buffer);
    const size = data.height * data.width;
    const fine = data.width > n || data.height > n;
    this.buttons.forEach((button, k) => {
      const map = maps.subarray(k * size, (k + 1) * size);
      for (let y = 0, at = 0; y < n; y++) {
        const row = down.first[y] * data.width;
        for (let x = 0; x < n; x++, at++) {
          if (down.between[y] || across.between[x]) {
            out[at] = 0;
            continue;
          }
          let value = map[row + across.first[x]];
          if (fine) {
            for (let i = down.first[y]; i <= down.last[y]; i++)
              for (let j = across.first[x]; j <= across.last[x]; j++) value = Math.max(value, map[i * data.width + j]);
          }
          out[at] = colours[value];
        }
      }
      const canvas = button.firstChild;
      if (canvas.width !== n) canvas.width = canvas.height = n;
      canvas.getContext("2d").putImageData(picture, 0, 0);
    });
  }
}

export default mount(HeadGridView);
