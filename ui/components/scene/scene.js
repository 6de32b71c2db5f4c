// A scene: its picture, its one control, and the answer. All frames are here; the page is told where the control rests.

const MOVE_MS = 400; // from one frame to the next
const REST_MS = 500; // after which the page is told
const STAY_MS = 1400; // at each frame while it plays
const TYPE = 16; // pixels of the type beside it, unless someone presents or has large type
const ROOM = 850; // pixels: what a first screen takes, with what stands above it
const MEANS = {
  cards: CARDS, bars: BARS, curve: CURVE, matrix: MATRIX, dots: DOTS, bands: BANDS, ruler: RULER, square: SQUARE,
  wiring: WIRING, tower: TOWER, heard: HEARD, sheet: SHEET, fan: FAN, field: FIELD, finds: FINDS,
};
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let scenes = 0;

class SceneView {
  constructor(host) {
    this.root = el("section", "scene");
    this.picture = el("div", "picture");
    setAttribute(this.picture, "role", "group");
    this.bar = el("div", "bar");
    this.control = el("div", "control");
    this.answer = el("p", "answer");
    setAttribute(this.answer, "aria-live", "polite");
    this.bar.append(this.control, this.answer);
    this.caption = el("p", "caption");
    this.legend = el("p", "legend");
    this.legend.append(el("i", "low"), el("span", "", "below 0"), el("i", "high"), el("span", "", "above 0, pale near 0"));
    this.root.append(this.caption, this.legend, this.picture, this.bar);
    host.append(this.root);
    this.selection = new Selection();
    this.name = `scene${++scenes}`;
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.picture);
  }

  close() {
    this.sizes.disconnect();
    cancelAnimationFrame(this.moving);
    clearTimeout(this.telling);
    clearTimeout(this.playing);
  }

  update(data) {
    const content = JSON.stringify([data.frames, data.control, data.press]);
    const fresh = content !== this.content;
    if (data.seen >= this.selection.count) this.isPressed = false;
    this.content = content;
    this.data = data;
    this.selection.adopt([0, data.at], data.seen);
    const at = Math.min(this.selection.cell[1], data.frames.length - 1);
    if (fresh) {
      const before = this.shown;
      cancelAnimationFrame(this.moving);
      this.build();
      this.at = at;
      this.mark();
      // A training moves on in place. Between two sentences there is nothing to see, and moving takes time.
      if (before && data.press && !calm.matches) this.move(before, at);
      else this.shown = data.frames[at].rows;
      if (this.picture.clientWidth) this.resize(); // at once: an SVG without a height would jump
      if (data.begins && !before && !calm.matches) this.start(STAY_MS);
    } else if (at !== this.at) this.go(at, false);
    else this.resize(); // Streamlit calls again when the theme has changed
  }

  build() {
    const { data } = this;
    this.stop();
    setText(this.caption, data.caption);
    const panels = data.frames.flatMap((frame) => frame.rows.flat());
    this.legend.hidden = !panels.some((panel) => panel.signed || panel.rows?.some((row) => row.cards?.some((card) => card[4].length)));
    const n = data.frames[0].rows.length;
    if (this.panels?.length !== n || this.panels.some((row, r) => row.length !== data.frames[0].rows[r].length)) {
      this.panels = data.frames[0].rows.map((row) =>
        row.map((panel) => {
          const svg = document.createElementNS(SVG, "svg");
          setAttribute(svg, "role", "img");
          svg.addEventListener("click", (event) => this.click(event, svg));
          return { svg, pen: new Pen(svg) };
        }),
      );
      this.picture.replaceChildren(
        ...this.panels.map((row) => {
          const across = el("div", row.length > 3 ? "across many" : "across");
          row.forEach(({ svg }, n) => (svg.style.flexGrow = this.data.wide[n] ?? 1));
          across.append(...row.map(({ svg }) => svg));
          return across;
        }),
      );
    }
    this.panels[0][0].svg.classList.toggle("clicks", data.by === "cards");
    this.controls();
  }

  controls() {
    const { data } = this;
    const stops = data.frames.length === 1 && data.press ? [] : data.frames.map((frame) => frame.stop);
    const built = JSON.stringify([data.control, data.by, data.plays, Boolean(data.press), stops]);
    if (this.pressed) setText(this.pressed, data.press);
    if (built === this.built) return; // they keep the focus
    this.built = built;
    this.control.replaceChildren();
    this.pressed = data.press ? this.button(data.press) : null;
    if (this.pressed) this.control.append(this.pressed);
    if (data.frames.length === 1 && data.press) return; // there is nowhere to go yet
    if (data.by === "slider") {
      this.label = el("label", "name", data.control);
      this.input = el("input");
      Object.assign(this.input, { type: "range", min: 0, max: data.frames.length - 1, step: 1, id: this.name });
      this.label.htmlFor = this.name;
      this.input.addEventListener("input", () => this.go(Number(this.input.value)));
      this.stopName = el("output", "stop");
      const head = el("div", "head");
      head.append(this.label, this.stopName);
      const line = el("div", "slide");
      if (data.plays) line.append(this.player());
      line.append(this.input);
      this.control.append(head, line);
      return;
    }
    const set = el("fieldset");
    set.append(el("legend", "name", data.control));
    this.options = data.frames.map((frame, n) => {
      const label = el("label");
      const input = el("input");
      Object.assign(input, { type: "radio", name: this.name, value: n });
      input.addEventListener("change", () => this.go(n));
      label.append(input, el("span", "", frame.stop));
      set.append(label);
      return input;
    });
    this.control.append(set);
  }

  button(says) {
    const button = el("button", "press", says);
    button.type = "button";
    button.addEventListener("click", () => {
      if (this.isPressed) return; // once, until the page has answered
      this.isPressed = true;
      this.send(this.selection.choose([1, 0]));
      this.selection.cell = [0, this.at];
    });
    return button;
  }

  player() {
    this.play = el("button", "play", "▶");
    this.play.type = "button";
    setAttribute(this.play, "aria-label", "Play");
    this.play.addEventListener("click", () => (this.playing ? this.stop() : this.start()));
    return this.play;
  }

  /** Play, after so many milliseconds. */
  start(wait = 0) {
    setText(this.play, "❚❚");
    setAttribute(this.play, "aria-label", "Pause");
    const on = () => {
      const last = this.at === this.data.frames.length - 1;
      if (last && this.started) return this.stop();
      this.started = true;
      this.go(last ? 0 : this.at + 1, true, true);
      this.playing = setTimeout(on, STAY_MS);
    };
    if (wait) this.playing = setTimeout(on, wait);
    else on();
  }

  stop() {
    clearTimeout(this.playing);
    this.playing = this.started = null;
    if (!this.play) return;
    setText(this.play, "▶");
    setAttribute(this.play, "aria-label", "Play");
  }

  /** Move to a frame; the page is told when the control rests there. */
  go(at, tell = true, playing = false) {
    if (!playing) this.stop();
    if (at === this.at) return;
    this.at = at;
    this.mark();
    if (calm.matches) this.draw((this.shown = this.data.frames[at].rows));
    else this.move(this.shown, at);
    if (!tell) return;
    const message = this.selection.choose([0, at]);
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.send(message), REST_MS);
  }

  mark() {
    const frame = this.data.frames[this.at];
    if (this.data.frames.length === 1 && this.data.press) {
      // The button alone stands there.
    } else if (this.data.by === "slider") {
      this.input.value = this.at;
      setAttribute(this.input, "aria-valuetext", frame.stop);
      setText(this.stopName, frame.stop);
    } else this.options[this.at].checked = true;
    // Joiners keep the asterisks of a quoted text apart from those that stand for bold: see answer.py.
    this.answer.replaceChildren(...frame.answer.split("**").map((text, n) => el(n % 2 ? "b" : "span", "", text.replaceAll("\u2060", ""))));
    setAttribute(this.picture, "aria-label", `${this.data.control}: ${frame.stop}`);
  }

  move(from, at) {
    cancelAnimationFrame(this.moving);
    const to = this.data.frames[at].rows;
    const begin = performance.now();
    const step = (now) => {
      const t = Math.min(1, Math.max(0, (now - begin) / MOVE_MS));
      this.shown = between(from, to, t * t * (3 - 2 * t));
      this.draw(this.shown);
      if (t < 1) this.moving = requestAnimationFrame(step);
    };
    step(begin);
  }

  /** Panels have the height of the tallest of all frames, so that nothing jumps; all is as large as the type beside. */
  resize() {
    if (!this.panels) return;
    const type = parseFloat(getComputedStyle(document.documentElement).fontSize) / TYPE;
    this.root.style.zoom = this.zoom = Math.max(1, Math.min(type, innerHeight / ROOM)); // its control stays in sight
    this.panels.forEach((row, r) =>
      row.forEach((panel, p) => {
        panel.width = panel.svg.clientWidth || this.picture.clientWidth;
        panel.tallest = this.data.frames[0].rows[r][p];
        panel.height = panel.cards = 0;
        for (const frame of this.data.frames) {
          const one = frame.rows[r][p];
          const height = MEANS[one.kind].height(one, panel.width);
          const cards = Math.max(0, ...(one.kind === "cards" ? one.rows : []).map((row) => row.cards.length));
          if (height > panel.height || (height === panel.height && cards > panel.cards)) Object.assign(panel, { height, cards, tallest: one });
        }
        panel.svg.style.height = `${Math.ceil(panel.height)}px`;
      }),
    );
    this.draw(this.shown);
  }

  draw(rows) {
    const palette = paletteOf(this.root);
    this.root.classList.toggle("dark", palette.dark);
    const colours = palette.scales.signed.css;
    [...this.legend.querySelectorAll("i")].forEach((sign, n) => (sign.style.background = colours[n ? LEVELS - 32 : 32]));
    this.panels.forEach((row, r) =>
      row.forEach((panel, p) => {
        if (!panel.width) return;
        const data = rows[r][p];
        panel.pen.begin();
        MEANS[data.kind].draw(panel.pen, data, panel.width, palette, panel.tallest, this.data.pictures);
        panel.pen.end();
        setAttribute(panel.svg, "aria-label", data.title || this.data.control);
      }),
    );
  }

  click(event, svg) {
    if (this.data.by !== "cards" || svg !== this.panels[0][0].svg) return;
    const box = svg.getBoundingClientRect();
    const { tallest, width } = this.panels[0][0]; // the cards stand where the tallest frame has them
    const i = CARDS.hit(tallest, width, (event.clientX - box.left) / this.zoom, (event.clientY - box.top) / this.zoom);
    if (i >= 0 && i < this.data.frames.length) this.go(i);
  }
}

export default mount(SceneView);
