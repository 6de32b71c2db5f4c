// What one can point at in the picture, step into, and move.

/** What stands at a place of the picture: a column, a piece's line, or a block. */
function thingAt(scene, x, y) {
  const inside = (one) => x >= one.x - 2 && x <= one.x + one.w + 2 && y >= one.y - 2 && y <= one.y + one.h + 2;
  const tile = scene.tiles.findLast((one) => inside(one) && one.alpha > 0.3 && one.reveal > 0.5);
  if (tile) return { kind: "vector", panel: tile.panel, token: tile.token, level: tile.level, tensor: tile.tensor, rect: tile };
  const piece = scene.pieces.find(inside);
  if (piece) return { kind: "piece", panel: piece.panel, token: piece.token, rect: piece };
  const line = scene.lines.filter((one) => one.strong).find((one) => near(one, x, y));
  if (line) return { kind: "weights", panel: line.panel, part: line.part, tensor: line.tensor, head: line.head, row: line.row, column: line.column, rect: { x: x - 30, y: y - 30, w: 60, h: 60 } };
  const block = scene.blocks.find(inside);
  return block && blockThing(scene, block);
}

function near(line, x, y) {
  const [c1, c2] = controls(line);
  for (let i = 0; i <= 24; i++) {
    const [px, py] = along(line, c1, c2, i / 24);
    if (Math.hypot(px - x, py - y) < 4 + line.width / 2) return true;
  }
  return false;
}

const blockThing = (scene, block) => ({ kind: "block", panel: block.panel, part: block.part, rect: block });

/** What works now, to step into by a button. */
function whatWorks(scene, data) {
  const { panel, part } = scene.moment;
  return blockThing(scene, scene.blocks.find((one) => one.panel === panel && one.part === part));
}

/** What one reads when the pointer rests on a block that has a lesson. */
function toLesson(data, { panel, part }) {
  const { lesson } = data.panels[panel].parts[part];
  return lesson && `${titleOf(data, panel, part)}. Its lesson: ${lesson}`;
}

/** Buttons that stand, unseen, where the picture has something to step into. One tab stop; arrows move between them. */
class Proxies {
  constructor(ride) {
    this.ride = ride;
    this.root = el("div", "proxies");
    setAttribute(this.root, "role", "toolbar");
    setAttribute(this.root, "aria-label", "What the picture shows: arrow keys move, Enter steps inside");
    setAttribute(this.root, "data-arrows", "");
    this.root.addEventListener("keydown", (event) => {
      const buttons = [...this.root.children];
      const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const at = buttons.indexOf(event.target);
      const to = { Home: 0, End: buttons.length - 1 }[event.key] ?? (by && Math.min(buttons.length - 1, Math.max(0, at + by)));
      if (to === undefined) return;
      event.preventDefault();
      buttons[at].tabIndex = -1;
      buttons[to].tabIndex = 0;
      buttons[to].focus();
    });
  }

  show(scene, data) {
    const things = thingsOf(scene, data);
    const had = [...this.root.children].findIndex((one) => one.tabIndex === 0);
    while (this.root.children.length > things.length) this.root.lastChild.remove();
    while (this.root.children.length < things.length) this.root.append(this.proxy());
    things.forEach(({ name, what }, n) => {
      const button = this.root.children[n];
      setAttribute(button, "aria-label", name);
      button.what = what;
      const { x, y, w, h } = what.rect;
      button.style.cssText = `left:${x}px;top:${y}px;width:${w}px;height:${h}px`;
      button.tabIndex = n === Math.max(0, Math.min(had, things.length - 1)) ? 0 : -1;
    });
  }

  proxy() {
    const button = el("button", "proxy");
    button.type = "button";
    button.addEventListener("click", () => this.ride.enter(button.what));
    button.addEventListener("focus", () => {
      const { panel, token } = button.what;
      this.ride.focus = token === undefined ? null : { panel, token };
      this.ride.draw();
    });
    button.addEventListener("blur", () => {
      this.ride.focus = null;
      setTimeout(() => this.ride.playing || this.ride.draw()); // not now: it may lose the focus while they are drawn
    });
    return button;
  }
}

function thingsOf(scene, data) {
  const columns = scene.tiles
    .filter((tile) => tile.alpha > 0.3 && tile.reveal > 0.5)
    .map((tile) => ({
      name: `Column of ${data.panels[tile.panel].tokens[tile.token]}, ${titleOf(data, tile.panel, tile.level)}`,
      what: { kind: "vector", panel: tile.panel, token: tile.token, level: tile.level, tensor: tile.tensor, rect: tile },
    }));
  const blocks = scene.blocks.map((block) => ({ name: `Block: ${titleOf(data, block.panel, block.part)}`, what: blockThing(scene, block) }));
  return scene.rests ? blocks : [...blocks, ...columns]; // at rest a hundred columns stand there
}

/** What a block is called: “encoder, layer 1, self-attention”. */
function titleOf(data, panel, part) {
  const { name, parts } = data.panels[panel];
  const { layer, label } = parts[part];
  return [name, layer ? `layer ${layer}` : "", label.toLowerCase()].filter(Boolean).join(", ");
}

/** Arrows over a panel that has room for some of its pieces only. */
class Shifts {
  constructor(ride) {
    this.ride = ride;
    this.root = el("div", "shifts");
  }

  show(scene, data) {
    if (this.root.children.length !== 2 * data.panels.length) this.build(data);
    this.root.hidden = scene.near?.alpha > 0.5; // a block from near has a window of its own
    scene.boxes.forEach((box, panel) => {
      const last = box.count - box.shown;
      const [back, on] = [...this.root.children].slice(2 * panel, 2 * panel + 2);
      const first = Math.round(box.first);
      const more = box.w < CLOSE ? "" : " more";
      this.place(back, box, first, `← ${first}${more}`, box.x + box.w - arrowsOf(box));
      this.place(on, box, last - first, `${last - first}${more} →`, box.x + box.w - arrowsOf(box) / 2 - 2);
    });
  }

  place(button, box, hidden, text, x) {
    button.hidden = !arrowsOf(box);
    if (button.hidden) return;
    button.disabled = hidden <= 0;
    setText(button, hidden > 0 ? text : "");
    button.style.cssText = `left:${x}px;top:${box.y + 3}px;width:${arrowsOf(box) / 2 - 5}px`;
  }

  build(data) {
    this.root.replaceChildren(
      ...data.panels.flatMap(({ name }, panel) =>
        [-1, 1].map((by) => {
          const button = el("button", "shift");
          button.type = "button";
          setAttribute(button, "title", `Show ${by < 0 ? "earlier" : "later"} pieces of the ${name}`);
          button.addEventListener("click", () => this.ride.shift(panel, by * Math.max(1, this.ride.scene.boxes[panel].shown - 2)));
          return button;
        }),
      ),
    );
  }
}
