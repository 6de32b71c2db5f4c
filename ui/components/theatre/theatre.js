// A translation being written, step by step. All steps are here, so a step shows at once; the page is told which it is.
// Needs colour.js and shared.js.

const PACE_MS = 1100; // between two steps while playing
const PATIENCE_MS = 3000; // how long playing waits for the page to catch up
const STEP = 0; // a message [0, n] asks for step n, a message [1 + n, c] for candidate c at step n

/** A number from 0 to 1 with a fixed count of decimals; what would show as 0 is not impossible. */
function share(value, digits) {
  const least = 10 ** -digits;
  return value > 0 && value < least / 2 ? `<${least.toFixed(digits)}` : value.toFixed(digits);
}

class TheatreView {
  constructor(host) {
    this.root = el("section", "theatre");
    setAttribute(this.root, "role", "group");
    setAttribute(this.root, "aria-label", "What is written, step by step");

    const transport = el("div", "transport");
    this.count = el("span", "count");
    this.first = this.control("|◀", "First step", () => this.go(0));
    this.back = this.control("◀", "Step back", () => this.go(this.step - 1));
    this.play = this.control("", "", () => this.setPlaying(!this.playing));
    this.play.className = "play";
    this.forward = this.control("▶", "Step forward", () => this.go(this.step + 1));
    this.last = this.control("▶|", "Last step", () => this.go(this.data.steps.length - 1));
    transport.append(this.count, this.first, this.back, this.play, this.forward, this.last);

    [this.sourceName, this.source] = this.strip();
    [this.targetName, this.target] = this.strip();
    this.source.tabIndex = 0; // it may scroll, and holds nothing that takes the focus
    this.reading = el("div");
    this.reading.append(this.sourceName, this.source);
    const target = el("div");
    target.append(this.targetName, this.target);

    const choice = el("div");
    this.candidatesName = el("p", "name");
    this.candidates = el("ol", "candidates");
    choice.append(this.candidatesName, this.candidates);

    this.memory = el("div");
    this.cacheName = el("p", "name");
    this.cache = el("div", "cache");
    this.memory.append(this.cacheName, this.cache);

    this.live = el("p", "unseen");
    setAttribute(this.live, "aria-live", "polite");
    this.root.append(transport, this.reading, target, choice, this.memory, this.live);
    host.append(this.root);

    this.selection = new Selection();
    this.step = 0;
    this.seen = 0;
    this.playing = false;
  }

  close() {
    clearTimeout(this.timer);
  }

  control(sign, name, act) {
    const button = el("button", "", sign);
    button.type = "button";
    if (name) setAttribute(button, "aria-label", name);
    if (name) setAttribute(button, "title", name);
    button.addEventListener("click", () => {
      if (button !== this.play) this.setPlaying(false);
      act();
    });
    return button;
  }

  strip() {
    return [el("p", "name"), el("ol", "strip")];
  }

  update(data) {
    const other = JSON.stringify([data.source, data.target]);
    if (other !== this.sentence) {
      if (this.sentence) this.setPlaying(false);
      this.sentence = other;
      this.source.replaceChildren(...data.source.map((text) => this.piece(el("li", "piece"), text)));
      this.target.replaceChildren(
        ...data.target.map((text, n) => {
          const item = el("li");
          const button = this.piece(el("button", "piece"), text);
          button.type = "button";
          button.addEventListener("click", () => {
            this.setPlaying(false);
            this.go(Math.max(0, n - 1));
          });
          item.append(button);
          return item;
        }),
      );
    }
    this.data = data;
    this.reading.hidden = !data.source.length;
    this.memory.hidden = !data.steps.some((scene) => scene.cache.length);
    this.seen = data.seen;
    this.selection.adopt([STEP, data.step], data.seen);
    this.step = Math.min(this.selection.cell[1], data.steps.length - 1);
    this.draw();
  }

  piece(node, text) {
    node.append(el("span", "text", text), el("span", "small"));
    return node;
  }

  go(step) {
    if (step < 0 || step >= this.data.steps.length || step === this.step) return;
    this.step = step;
    this.send(this.selection.choose([STEP, step]));
    this.draw();
  }

  choose(candidate) {
    this.setPlaying(false);
    const message = this.selection.choose([1 + this.step, candidate]);
    this.selection.cell = [STEP, this.step];
    this.send(message);
  }

  setPlaying(on) {
    this.playing = on;
    clearTimeout(this.timer);
    if (on) {
      if (this.step === this.data.steps.length - 1) this.go(0);
      this.timer = setTimeout(() => this.tick(), PACE_MS);
    }
    this.controls();
  }

  /** One step on, unless the page lags behind or nobody looks. */
  tick() {
    const lags = this.seen < this.selection.count && performance.now() - this.selection.since < PATIENCE_MS;
    if (!lags && !document.hidden) this.go(this.step + 1);
    if (this.step === this.data.steps.length - 1) this.setPlaying(false);
    else this.timer = setTimeout(() => this.tick(), PACE_MS);
  }

  controls() {
    const last = this.data.steps.length - 1;
    setText(this.count, `Step ${this.step + 1} of ${last + 1}`);
    setText(this.play, this.playing ? "❚❚ Pause" : this.step === last && last > 0 ? "↻ Play" : "▶ Play");
    this.play.disabled = last === 0;
    this.first.disabled = this.back.disabled = this.step === 0;
    this.forward.disabled = this.last.disabled = this.step === last;
  }

  draw() {
    const { data } = this;
    const palette = paletteOf(this.root);
    const scene = data.steps[this.step];
    for (const [name, value] of Object.entries(this.colours(palette))) this.root.style.setProperty(name, value);
    this.controls();

    setText(this.sourceName, data.source_name);
    setAttribute(this.source, "aria-label", data.source_name);
    [...this.source.children].forEach((item, n) => this.weigh(item, scene.cross[n], palette));
    setText(this.targetName, data.target_name);
    setAttribute(this.target, "aria-label", data.target_name);
    [...this.target.children].forEach((item, n) => this.drawTarget(item.firstChild, n, scene, palette));
    this.keepInView(this.target, this.target.children[this.step + 1]);
    this.drawCandidates(scene);
    this.drawCache(scene);
    const [text, probability] = scene.candidates[scene.chosen];
    setText(this.live, `${this.count.textContent}: writes ${text}, probability ${share(probability, 2)}`);
  }

  colours(palette) {
    const dark = palette.dark;
    return {
      "--border": palette.border,
      "--rule": palette.neutral,
      "--muted": palette.muted,
      "--faint": palette.muted,
      "--output": dark ? "#e09cc0" : "#a3467a",
      "--key": dark ? "#e69f00" : "#c98a00",
      "--value": dark ? "#2bc79b" : "#009e73",
    };
  }

  /** Shade a piece by the attention it gets. */
  weigh(node, weight, palette) {
    const scale = palette.scales.weight;
    const level = levelOf(weight, "weight", 1);
    node.style.backgroundColor = scale.css[level];
    node.style.color = scale.ink[level];
    setText(node.lastChild, share(weight, 2));
  }

  drawTarget(node, n, scene, palette) {
    const now = n === this.step + 1;
    node.className = ["piece", now && "now", n > this.step + 1 && "ahead", this.data.yours[n] && "yours"].filter(Boolean).join(" ");
    if (n <= this.step) this.weigh(node, scene.self[n], palette);
    else {
      node.style.backgroundColor = node.style.color = "";
      setText(node.lastChild, now ? "new" : "");
    }
    const start = this.data.source.length ? "the start sign" : "your text";
    const role = n === 0 ? start : `written in step ${n}`;
    setAttribute(node, "title", this.data.yours[n] ? `${role}, chosen by you` : role);
    setAttribute(node, "aria-current", now ? "step" : null);
  }

  /** Scroll inside the strip alone, never the page. */
  keepInView(strip, item) {
    const low = item.offsetTop - strip.offsetTop;
    if (low < strip.scrollTop || low + item.offsetHeight > strip.scrollTop + strip.clientHeight) strip.scrollTop = low;
  }

  drawCandidates(scene) {
    const read = this.data.target.slice(0, this.step + 1).join(" ");
    setText(this.candidatesName, `The likeliest pieces after “${read.length > 60 ? `… ${read.slice(-60)}` : read}”, with their probabilities. Choose another, and the sentence goes on from it.`);
    const items = this.candidates.children;
    while (items.length > scene.candidates.length) this.candidates.lastChild.remove();
    while (items.length < scene.candidates.length) {
      const n = items.length;
      const item = el("li");
      const button = el("button");
      button.type = "button";
      button.append(el("span", "text"), el("span", "room"), el("span", "value"));
      button.addEventListener("click", () => this.choose(n));
      item.append(button);
      this.candidates.append(item);
    }
    scene.candidates.forEach(([text, probability], n) => {
      const button = items[n].firstChild;
      setText(button.children[0], text);
      button.children[1].style.setProperty("--p", probability);
      setText(button.children[2], share(probability, 4));
      setAttribute(button, "aria-pressed", String(n === scene.chosen));
    });
  }

  /** A square is one key and one value; those that this step added stand out. */
  drawCache(scene) {
    setText(this.cacheName, scene.cache_says);
    const nodes = [el("span"), el("span", "heading", "of what it read"), el("span", "heading", "of your sentence")];
    scene.cache.forEach(([own, source], layer) => {
      nodes.push(el("span", "", `layer ${layer + 1}`));
      nodes.push(this.pairs(own, 1, `layer ${layer + 1}: ${own} of what it read, 1 of them new`));
      const fresh = this.step === 0 ? source : 0;
      nodes.push(this.pairs(source, fresh, `layer ${layer + 1}: ${source} of your sentence, ${fresh} of them new`));
    });
    this.cache.replaceChildren(...nodes);
  }

  pairs(count, fresh, name) {
    const row = el("span", "pairs");
    setAttribute(row, "role", "img");
    setAttribute(row, "aria-label", name);
    for (let n = 0; n < count; n++) row.append(el("span", n >= count - fresh ? "pair fresh" : "pair"));
    return row;
  }
}

export default mount(TheatreView);
