// The map of a whole model as one drawing. Needs colour.js, shared.js and the other scripts of this folder.

class MapView {
  constructor(host) {
    this.root = el("figure", "map");
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Map of the Transformer");
    this.root.setAttribute("aria-description", "Arrow keys move from block to block.");
    this.root.dataset.arrows = "move"; // the presenter's keys leave it alone
    this.svg = draw("svg", { role: "none" });
    this.back = draw("g", { "aria-hidden": "true" });
    this.lines = draw("g", { class: "wires", "aria-hidden": "true" });
    this.marks = draw("g", { class: "marks", "aria-hidden": "true" });
    this.front = draw("g");
    this.out = draw("text", { class: "translation", "text-anchor": "middle" });
    this.paths = ["line", "head", "line memory", "head memory"].map((name) => draw("path", { class: name }));
    this.lines.append(...this.paths);
    this.svg.append(this.back, this.lines, this.marks, this.front, this.out);
    this.about = el("div", "about");
    this.idle = el("p", "idle");
    this.root.append(this.svg, this.about);
    host.append(this.root);
    this.selection = new Selection();
    this.blocks = new Map();
    this.pointed = this.focused = null;
    this.listen();
    this.watch = new ResizeObserver(() => this.data && this.measure() && this.draw());
    this.watch.observe(this.root);
  }

  close() {
    this.watch.disconnect();
  }

  listen() {
    const blockOf = (event) => this.blocks.get(event.target.closest?.("[data-block]")?.dataset.block) ?? null;
    const open = (block) => block?.opens && this.send(this.selection.choose([block.index, 0]));
    this.svg.addEventListener("pointerover", (event) => this.point(blockOf(event)));
    this.svg.addEventListener("pointerleave", () => this.point(null));
    this.svg.addEventListener("click", (event) => open(blockOf(event)));
    // On the figure: an <svg> that listens for the focus is itself a stop on the way of the Tab key.
    this.root.addEventListener("focusin", (event) => {
      this.focused = blockOf(event);
      if (this.focused) this.rove(this.focused.id);
      this.read();
    });
    this.root.addEventListener("focusout", () => {
      this.focused = null;
      this.read();
    });
    this.svg.addEventListener("keydown", (event) => {
      const block = blockOf(event);
      const to = this.neighbour(block, event.key);
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      if (to) to.group.focus();
      else if (event.key === "Enter" || event.key === " ") open(block);
      else return;
      event.preventDefault();
    });
  }

  /** The block that a key leads to: up and down in the order of the data, left and right to the nearest at that side. */
  neighbour(block, key) {
    const stops = [...this.blocks.values()].filter(({ opens }) => opens);
    const at = stops.indexOf(block);
    const line = { ArrowUp: at + 1, ArrowDown: at - 1, Home: 0, End: stops.length - 1 }[key];
    if (at < 0 || line !== undefined) return stops[Math.max(0, Math.min(line, stops.length - 1))];
    if (key !== "ArrowLeft" && key !== "ArrowRight") return null;
    const spot = ({ group }) => {
      const { x, y, width, height } = group.getBBox();
      return [x + width / 2, y + height / 2];
    };
    const [x, y] = spot(block);
    const there = stops.filter((stop) => (spot(stop)[0] - x) * (key === "ArrowLeft" ? -1 : 1) > 20);
    return there.sort((a, b) => Math.abs(spot(a)[1] - y) - Math.abs(spot(b)[1] - y))[0] ?? block;
  }

  /** Of all blocks that open something, make one the block that Tab enters: this, else the one before, else the first. */
  rove(id = this.roving) {
    const stops = [...this.blocks.values()].filter(({ opens }) => opens);
    const one = stops.find((stop) => stop.id === id) ?? stops[0];
    this.roving = one?.id;
    for (const block of this.blocks.values()) {
      put(block.group, { tabindex: !block.opens ? null : block === one ? "0" : "-1" });
    }
  }

  point(block) {
    if (block === this.pointed) return;
    this.pointed?.parts.forEach((part) => part.classList.remove("pointed"));
    this.pointed = block;
    block?.parts.forEach((part) => part.classList.add("pointed"));
    this.read();
  }

  /** The text below: of the block under the pointer, else of the one with the focus. All texts lie on one another. */
  read() {
    const now = (this.pointed ?? this.focused)?.text ?? this.idle;
    if (now === this.reading) return;
    this.reading?.classList.remove("on");
    now.classList.add("on");
    this.reading = now;
  }

  /** Read what the drawing depends on: the width for it, in pixels at the usual text size, the font, the theme. */
  measure() {
    const style = getComputedStyle(this.root);
    const before = this.room;
    this.unit = parseFloat(style.fontSize) / 16 || 1;
    this.room = Math.floor((this.root.clientWidth || 560) / this.unit);
    this.lettering = new Lettering(style.fontFamily);
    this.palette = paletteOf(this.root);
    return this.room !== before;
  }

  update(data) {
    this.data = data;
    this.selection.adopt(null, data.seen);
    this.measure(); // before anything is written, so that the browser need not lay out the page twice
    this.build(data);
    for (const block of data.blocks) this.dress(this.blocks.get(block.id), block);
    this.rove();
    setText(this.idle, data.hint);
    this.read();
    this.draw();
  }

  /** The elements of all blocks, anew if another model has others. */
  build({ blocks, stacks }) {
    const shape = JSON.stringify([blocks.map(({ id, colour }) => [id, colour]), stacks.length]);
    if (shape === this.shape) return;
    this.shape = shape;
    this.pointed = this.focused = this.reading = null;
    this.back.replaceChildren();
    this.front.replaceChildren();
    this.about.replaceChildren(this.idle);
    this.blocks = new Map(blocks.map((block, index) => [block.id, this.element(block, index, stacks.length)]));
  }

  element({ id, colour }, index, n) {
    const group = draw("g", { class: `block ${colour}`, "data-block": id });
    const text = el("p");
    text.id = `about-${index}`;
    const block = { id, index, colour, group, text, parts: [group] };
    // Tokens lie below every stack, everything else in one place.
    const rects = (name) => Array.from({ length: colour === "tokens" ? n : 1 }, () => draw("rect", { class: name }));
    block.halos = rects("halo");
    block.bodies = rects("body");
    group.append(...block.halos, ...block.bodies);
    if (colour === "stack") {
      block.floor = draw("rect", { class: "floor", "data-block": id });
      block.parts.push(block.floor);
      this.back.append(block.floor);
    }
    if (colour === "tokens") {
      block.title = draw("title");
      block.chips = draw("g");
      group.append(block.chips, block.title);
    } else {
      block.label = draw("text", { class: "label" });
      block.image = draw("image", { preserveAspectRatio: "none" });
      block.bars = draw("path", { class: "bars" });
      group.append(block.label, block.image, block.bars);
    }
    this.front.append(group);
    this.about.append(text);
    return block;
  }

  /** Names, role and texts of a block; all that does not depend on the width. */
  dress(block, data) {
    block.opens = data.opens;
    block.data = data;
    put(block.group, {
      role: data.opens ? "link" : "img",
      "aria-label": [data.name, data.opens && `opens: ${data.opens}`].filter(Boolean).join(", "),
      "aria-describedby": data.does ? block.text.id : null,
    });
    block.parts.forEach((part) => part.classList.toggle("opens", Boolean(data.opens)));
    const said = JSON.stringify([data.name, data.does, data.numbers, data.opens]);
    if (said === block.said) return;
    block.said = said;
    const words = [el("strong", "", `${data.name}. `)];
    if (data.does) words.push(`${data.does} `);
    if (data.numbers) words.push(el("span", "numbers", `${data.numbers} `));
    if (data.opens) words.push(el("span", "", `Opens: ${data.opens}.`));
    block.text.replaceChildren(...words);
  }

  draw() {
    const { data, palette, room } = this;
    const map = layOut(data, widthFor(data, room));
    this.root.dataset.theme = palette.dark ? "dark" : "light";
    put(this.svg, { viewBox: `0 0 ${map.width} ${map.height}`, width: map.width * this.unit, height: map.height * this.unit });
    const wire = wires(map, data.feeds);
    [...wire.flow, ...wire.memory].forEach((d, i) => put(this.paths[i], { d }));
    for (const block of this.blocks.values()) {
      if (block.colour === "tokens") this.tokens(block, map);
      else if (block.colour === "stack") this.frame(block, map);
      else this.block(block, map);
    }
    this.output(map);
    this.mark(map, wire.arrivals);
  }

  block(block, { s, at }) {
    const box = at[block.id];
    const { picture, label } = block.data;
    place(block.bodies[0], box, s.round);
    place(block.halos[0], box, s.round, 3);
    const room = s.font * 7.6; // the longest word, "Encoder-decoder"
    const lines = this.lettering.wrap(label, picture ? room : box.w - 8, s.font);
    const middle = box.y + box.h / 2 - ((lines.length - 1) * s.line) / 2;
    const x = picture ? box.x + 9 : box.x + box.w / 2;
    this.write(block.label, lines, x, middle, s, picture ? "start" : "middle");
    block.image.style.display = picture && picture.kind !== "bars" ? "" : "none";
    block.bars.style.display = picture?.kind === "bars" ? "" : "none";
    if (!picture) return;
    const inset = box.h > 40 ? 5 : 4;
    const space = { x: box.x + 9 + room + 7, y: box.y + inset, h: box.h - 2 * inset };
    space.w = box.x + box.w - inset - space.x;
    if (picture.kind === "bars") put(block.bars, { d: bars(bytesOf(picture.pixels), space) });
    else this.picture(block, picture, space);
  }

  write(text, lines, x, middle, s, anchor) {
    put(text, { "text-anchor": anchor, "font-size": s.font });
    while (text.children.length > lines.length) text.lastChild.remove();
    while (text.children.length < lines.length) text.append(draw("tspan"));
    lines.forEach((line, i) => {
      put(text.children[i], { x, y: middle + i * s.line + s.font * 0.35 });
      setText(text.children[i], line);
    });
  }

  /** A tensor: weights as squares in their proportions, values over all the space. */
  picture(block, { kind, pixels, height, width }, space) {
    const { palette } = this;
    const id = [palette.id, kind, height, width, pixels].join("|");
    if (id !== block.painted) {
      block.painted = id;
      put(block.image, { href: painted(bytesOf(pixels), kind, height, width, palette) });
    }
    let { x, y, w, h } = space;
    if (kind === "weight") {
      const cell = Math.min(w / width, h / height);
      [x, w, y, h] = [x + (w - cell * width) / 2, cell * width, y + (h - cell * height) / 2, cell * height];
    }
    put(block.image, { x, y, width: w, height: h });
    block.image.classList.toggle("soft", kind === "weight" && Math.max(width, height) <= 16);
  }

  /** The frame around a layer, and its name on the frame's upper edge, away from where other stacks are fed. */
  frame(block, { s, at, columns }) {
    const box = at[block.id];
    place(block.floor, box, s.round + 4);
    const size = s.font < 11 ? 9.5 : s.small;
    const width = this.lettering.width(block.data.label, size, 600) + s.pill * 0.8;
    const right = s.font < 11 && columns.find(({ stack }) => stack.frame === block.id).side > 0;
    const x = right ? box.x + box.w - 6 - width : box.x + 8;
    const pill = { x, y: box.y - s.pill / 2, w: width, h: s.pill };
    place(block.bodies[0], pill, s.pill / 2);
    place(block.halos[0], pill, s.pill / 2, 3);
    this.write(block.label, [block.data.label], pill.x + width / 2, box.y, { ...s, font: size }, "middle");
  }

  tokens(block, { s, columns }) {
    const { live } = this.data;
    const rows = columns.map((column) => chips(column, live, s, this.lettering));
    block.chips.replaceChildren(...rows.flatMap(({ nodes }) => nodes));
    rows.forEach(({ area }, i) => {
      place(block.bodies[i], area, 5);
      place(block.halos[i], area, 5);
    });
    setText(block.title, live ? columns.map(({ stack }) => stack.tokens.join(" ")).join("\n") : "");
  }

  /** What the model writes, above the stack that writes it. */
  output({ s, columns, width }) {
    const { output, live } = this.data;
    const writer = columns.find(({ stack }) => stack.outputs.length);
    const size = live ? 14 : s.small;
    const weight = live ? 600 : 400;
    const shown = writer ? this.lettering.cut(output, width - 8, size, weight) : "";
    const half = this.lettering.width(shown, size, weight) / 2 + 3;
    const x = Math.max(half, Math.min(writer?.middle ?? 0, width - half));
    put(this.out, { x, y: s.top - (live ? 6 : 5), "font-size": size, "font-weight": weight });
    if (this.out.dataset.text === output && this.out.dataset.shown === shown) return;
    Object.assign(this.out.dataset, { text: output, shown });
    this.out.textContent = shown;
    if (shown !== output) {
      const title = draw("title");
      title.textContent = output;
      this.out.append(title);
    }
  }

  mark(map, arrivals) {
    const id = JSON.stringify([map.legend, map.width, this.palette.id, arrivals]);
    if (id === this.marked) return;
    this.marked = id;
    this.marks.replaceChildren(...legend(map, arrivals, this.palette, this.lettering));
  }
}

export default mount(MapView);
