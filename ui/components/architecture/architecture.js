class MapView {
  constructor(host) {
    this.root = el("figure", "map");
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Map of the Transformer");
    this.svg = draw("svg", { role: "none" });
    this.back = draw("g", { "aria-hidden": "true" });
    this.lines = draw("g", { class: "wires", "aria-hidden": "true" });
    this.marks = draw("g", { class: "marks", "aria-hidden": "true" });
    this.front = draw("g");
    this.out = draw("text", { class: "translation", "text-anchor": "middle" });
    this.svg.append(this.back, this.lines, this.marks, this.front, this.out);
    this.about = el("div", "about");
    this.idle = el("p", "idle");
    this.about.append(this.idle);
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
    this.root.remove();
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
      this.read();
    });
    this.root.addEventListener("focusout", () => {
      this.focused = null;
      this.read();
    });
    this.svg.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      open(blockOf(event));
    });
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
    this.family = style.fontFamily;
    this.palette = paletteOf(this.root);
    return this.room !== before;
  }

  update(data) {
    this.data = data;
    this.selection.adopt(null, data.seen);
    this.root.classList.toggle("compact", data.compact);
    this.measure(); // before anything is written, so that the browser need not lay out the page twice
    if (!this.blocks.size) data.blocks.forEach((block, index) => this.build(block, index));
    for (const block of data.blocks) this.dress(this.blocks.get(block.id), block);
    setText(this.idle, data.hint);
    this.read();
    this.draw();
  }

  build({ id }, index) {
    const kind = id.endsWith("stack") ? "stack" : id.endsWith("_attn") ? "attention" : id.replace(/^.*\./, "").replace(/_\d$/, "");
    const group = draw("g", { class: `block ${kind}`, "data-block": id });
    const text = el("p");
    text.id = `about-${index}`;
    const block = { id, index, kind, group, text, parts: [group] };
    block.halo = draw("rect", { class: "halo" });
    block.body = draw("rect", { class: "body" });
    group.append(block.halo, block.body);
    if (kind === "stack") {
      block.floor = draw("rect", { class: "floor", "data-block": id });
      block.parts.push(block.floor);
      this.back.append(block.floor);
    }
    if (kind === "tokenize") {
      block.halo2 = draw("rect", { class: "halo" });
      block.body2 = draw("rect", { class: "body" });
      block.title = draw("title");
      block.chips = draw("g");
      group.append(block.halo2, block.body2, block.chips, block.title);
    } else {
      block.label = draw("text", { class: "label" });
      block.image = draw("image", { preserveAspectRatio: "none" });
      block.bars = draw("path", { class: "bars" });
      group.append(block.label, block.image, block.bars);
    }
    this.blocks.set(id, block);
    this.front.append(group);
    this.about.append(text);
  }

  /** Names, role and texts of a block; all that does not depend on the width. */
  dress(block, data) {
    const here = data.lit ? "you are here" : "";
    block.opens = data.opens;
    block.data = data;
    put(block.group, {
      role: data.opens ? "link" : "img",
      tabindex: data.opens ? "0" : null,
      "aria-label": [data.name, here, data.opens && `opens: ${data.opens}`].filter(Boolean).join(", "),
      "aria-describedby": data.does ? block.text.id : null,
      "aria-current": data.lit ? "true" : null,
    });
    block.parts.forEach((part) => {
      part.classList.toggle("opens", Boolean(data.opens));
      part.classList.toggle("lit", data.lit);
    });
    const said = JSON.stringify([data.name, here, data.does, data.numbers, data.opens]);
    if (said === block.said) return;
    block.said = said;
    const words = [el("strong", "", `${data.name}. `)];
    if (here) words.push(el("span", "here", "You are here. "));
    if (data.does) words.push(`${data.does} `);
    if (data.numbers) words.push(el("span", "numbers", `${data.numbers} `));
    if (data.opens) words.push(el("span", "opening", `Opens: ${data.opens}.`));
    block.text.replaceChildren(...words);
  }

  textWidth(text, size, weight = 400) {
    pen.font = `${weight} ${size}px ${this.family}`;
    return pen.measureText(text).width;
  }

  /** `text`, cut to `width` with an ellipsis. */
  cut(text, width, size, weight) {
    if (this.textWidth(text, size, weight) <= width) return text;
    const letters = Array.from(text);
    let low = 0;
    for (let high = letters.length; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if (this.textWidth(letters.slice(0, middle).join("").trimEnd() + "…", size, weight) <= width) low = middle;
      else high = middle - 1;
    }
    return letters.slice(0, low).join("").trimEnd() + "…";
  }

  draw() {
    const { data, palette, room } = this;
    const most = data.compact ? SIZES.compact.most : data.live ? SIZES.full.most : 480;
    const map = plan(Math.max(data.compact ? 200 : 280, Math.min(room, most)), data.compact);
    this.root.dataset.theme = palette.dark ? "dark" : "light";
    put(this.svg, { viewBox: `0 0 ${map.width} ${map.height}`, width: map.width * this.unit, height: map.height * this.unit });

    const wire = wires(map);
    const [flow, heads] = wire.flow;
    const [memory, memoryHeads] = wire.memory;
    if (!this.paths) {
      this.paths = ["line", "head", "line memory", "head memory"].map((name) => draw("path", { class: name }));
      this.lines.append(...this.paths);
    }
    [flow, heads, memory, memoryHeads].forEach((d, i) => put(this.paths[i], { d }));

    for (const block of this.blocks.values()) {
      if (block.kind === "tokenize") this.pieces(block, map);
      else if (block.kind === "stack") this.frame(block, map);
      else this.block(block, map, palette);
    }
    this.translation(map);
    this.legend(map, palette, wire);
  }

  place(rect, { x, y, w, h }, round, grow = 0) {
    put(rect, { x: x - grow, y: y - grow, width: w + 2 * grow, height: h + 2 * grow, rx: round + grow });
  }

  block(block, map, palette) {
    const { s } = map;
    const box = map.at[block.id];
    const picture = block.data.picture;
    this.place(block.body, box, s.round);
    this.place(block.halo, box, s.round, 3);
    const room = s.font * 7.6; // the longest word, "Encoder-decoder"
    const lines = this.wrap(block.data.label, picture ? room : box.w - 8, s.font);
    const middle = box.y + box.h / 2 - ((lines.length - 1) * s.line) / 2;
    const x = picture ? box.x + 9 : box.x + box.w / 2;
    this.lettering(block.label, lines, x, middle, s, picture ? "start" : "middle");
    block.image.style.display = picture && picture.kind !== "bars" ? "" : "none";
    block.bars.style.display = picture?.kind === "bars" ? "" : "none";
    if (!picture) return;
    const inset = box.h > 40 ? 5 : 4;
    const space = { x: box.x + 9 + room + 7, y: box.y + inset, h: box.h - 2 * inset };
    space.w = box.x + box.w - inset - space.x;
    if (picture.kind === "bars") put(block.bars, { d: bars(bytesOf(picture.pixels), space) });
    else this.picture(block, picture, space, palette);
  }

  lettering(text, lines, x, middle, s, anchor) {
    put(text, { "text-anchor": anchor, "font-size": s.font });
    while (text.children.length > lines.length) text.lastChild.remove();
    while (text.children.length < lines.length) text.append(draw("tspan"));
    lines.forEach((line, i) => {
      put(text.children[i], { x, y: middle + i * s.line + s.font * 0.35 });
      setText(text.children[i], line);
    });
  }

  wrap(text, width, size) {
    const lines = [];
    for (const word of text.split(" ")) {
      const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
      if (lines.length && this.textWidth(longer, size) <= width) lines[lines.length - 1] = longer;
      else lines.push(word);
    }
    return lines;
  }

  /** A tensor: weights as squares in their proportions, values over all the space. */
  picture(block, { kind, pixels, height, width }, space, palette) {
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

  /** The frame around a layer, and its name on the frame's upper edge at the outer corner. */
  frame(block, { s, at }) {
    const box = at[block.id];
    this.place(block.floor, box, s.round + 4);
    const size = s.font < 11 ? 9.5 : s.small;
    const width = this.textWidth(block.data.label, size, 600) + s.pill * 0.8;
    const outer = block.id.startsWith("encoder") ? box.x + 8 : s.font < 11 ? box.x + box.w - 6 - width : box.x + 8;
    const pill = { x: outer, y: box.y - s.pill / 2, w: width, h: s.pill };
    this.place(block.body, pill, s.pill / 2);
    this.place(block.halo, pill, s.pill / 2, 3);
    this.lettering(block.label, [block.data.label], pill.x + width / 2, box.y, { ...s, font: size }, "middle");
  }

  /** The pieces of both sentences as chips, as many as there is room for. */
  pieces(block, { s, pieces, left, right }) {
    const { source, target, live } = this.data;
    const chips = [];
    const lay = (texts, box, centre, side) => {
      const size = s.small;
      const [gap, inside, tall] = [4, live ? 5 : 7, live ? 17 : Math.min(s.pieces, 20)];
      const rows = live ? 2 : 1;
      const more = (n) => this.textWidth(`+${n}`, size) + 2 * inside;
      const wide = (text) => this.textWidth(text, size) + 2 * inside;
      const lines = [[]];
      let used = 0;
      for (let i = 0; i < texts.length; i++) {
        const text = this.cut(texts[i], box.w - 2 * inside, size);
        const w = wide(text);
        const rest = texts.length - i - 1;
        const spare = lines.length === rows && rest ? gap + more(rest) : 0;
        if (used + w + spare > box.w && lines.length < rows && used) {
          lines.push([]);
          used = 0;
          i -= 1;
          continue;
        }
        if (used + w + spare > box.w && (used || rest)) {
          lines.at(-1).push([`+${rest + 1}`, more(rest + 1)]);
          break;
        }
        lines.at(-1).push([text, w]);
        used += w + gap;
      }
      lines.forEach((line, i) => {
        const total = line.reduce((sum, [, w]) => sum + w + gap, -gap);
        let x = Math.max(box.x, Math.min(centre - total / 2, box.x + box.w - total));
        const y = box.y + i * (tall + gap) + (live ? 1 : 0);
        for (const [text, w] of line) {
          const chip = draw("rect", { class: `chip ${side}` });
          this.place(chip, { x, y, w, h: tall }, 4);
          const words = draw("text", { class: side, "text-anchor": "middle", "font-size": size });
          put(words, { x: x + w / 2, y: y + tall / 2 + size * 0.35 });
          words.textContent = text;
          chips.push(chip, words);
          x += w + gap;
        }
      });
      return { x: box.x, y: box.y - 2, w: box.w, h: lines.length * (tall + gap) + 1 };
    };
    const areas = [lay(source, pieces[0], left, "source"), lay(target, pieces[1], right, "target")];
    block.chips.replaceChildren(...chips);
    this.place(block.body, areas[0], 5);
    this.place(block.body2, areas[1], 5);
    this.place(block.halo, areas[0], 5);
    this.place(block.halo2, areas[1], 5);
    setText(block.title, live ? `${source.join(" ")}\n${target.join(" ")}` : "");
  }

  translation({ s, right, width }) {
    const { translation, live } = this.data;
    const size = live ? 14 : s.small;
    const shown = this.cut(translation, width - 8, size, live ? 600 : 400);
    const half = this.textWidth(shown, size, live ? 600 : 400) / 2 + 3;
    put(this.out, { x: Math.max(half, Math.min(right, width - half)), y: s.top - (live ? 6 : 5), "font-size": size, "font-weight": live ? 600 : 400 });
    if (this.out.dataset.text === translation && this.out.dataset.shown === shown) return;
    Object.assign(this.out.dataset, { text: translation, shown });
    this.out.textContent = shown;
    if (shown !== translation) {
      const title = draw("title");
      title.textContent = translation;
      this.out.append(title);
    }
  }

  legend(map, palette, wire) {
    const { live } = this.data;
    const id = [live, map.width, palette.id].join("|");
    if (id === this.legendDrawn) return;
    this.legendDrawn = id;
    this.marks.replaceChildren(...legendMarks(map, palette, wire, live));
  }
}

export default mount(MapView);
