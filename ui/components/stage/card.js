// What is said beside the picture: the caption, what the piece in focus looks at, the heads; and the story as a list.

class Card {
  constructor(ride) {
    this.root = el("aside", "card");
    setAttribute(this.root, "aria-label", "What happens");
    this.count = el("p", "count");
    this.caption = el("p", "caption");
    setAttribute(this.caption, "aria-live", "polite");
    this.heads = el("div", "heads");
    setAttribute(this.heads, "role", "group");
    setAttribute(this.heads, "aria-label", "Attention head");
    this.look = el("p", "look");
    this.enter = el("button", "enter", "Step inside");
    this.enter.type = "button";
    this.enter.addEventListener("click", () => ride.enter(whatWorks(ride.scene, ride.data)));
    this.scale = el("p", "scale");
    this.scaleText = el("span");
    this.scale.append(el("i", "ramp"), this.scaleText);
    this.root.append(this.count, this.caption, this.heads, this.look, this.enter, this.scale);
    this.ride = ride;
  }

  show({ scene, data, playing, t, captions }) {
    const stops = stopsOf(data);
    const at = stops.filter((n) => data.moments[n].end <= t + 0.02).length;
    const here = stops.find((n) => n >= scene.n);
    setText(this.count, t === 0 ? "" : `${Math.min(stops.length, at + (data.moments[stops[at - 1]]?.end >= t - 0.02 ? 0 : 1))} of ${stops.length} · ${data.moments[here ?? stops.at(-1)].stop}`);
    const invite = "Press play, or the space bar, and watch your sentence go through the whole machine. Every number is real.";
    setText(this.caption, captions ? (t === 0 ? invite : scene.moment.caption) : "");
    this.showHeads(scene, data);
    this.enter.hidden = t === 0 || playing;
    const { part, panel } = scene.moment;
    const tensor = data.tensors[data.panels[panel].parts[Math.max(0, part)].result] ?? data.tensors[data.panels[panel].parts[part - 1].result];
    const limit = shortNumber(tensor.limit);
    this.scale.hidden = t === 0;
    setText(this.scaleText, `−${limit} to ${limit} and beyond`);
    setAttribute(this.scale, "title", "Colours of the numbers in the newest row of columns");
  }

  showHeads(scene, data) {
    const { attention } = scene;
    this.heads.hidden = this.look.hidden = !attention;
    if (!attention) return;
    const tensor = data.tensors[attention.tensor];
    const [n] = tensor.shape;
    while (this.heads.children.length > n) this.heads.lastChild.remove();
    while (this.heads.children.length < n) {
      const head = this.heads.children.length;
      const button = el("button", "head", `${head + 1}`);
      button.type = "button";
      setAttribute(button, "aria-label", `Head ${head + 1}`);
      button.addEventListener("click", () => this.ride.chooseHead(head));
      this.heads.append(button);
    }
    [...this.heads.children].forEach((button, head) => setAttribute(button, "aria-pressed", String(head === attention.head)));
    const part = data.panels[attention.panel].parts[attention.part];
    const columns = data.panels[part.memory < 0 ? attention.panel : part.memory].tokens;
    const weights = columns.map((_, c) => weightOf(tensor, attention.head, attention.row, c));
    const best = weights.map((weight, c) => [weight, c]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    const faint = weights.filter((weight) => weight > 0 && weight < FAINTEST).length;
    const row = data.panels[attention.panel].tokens[attention.row];
    const shares = best.filter(([weight]) => weight >= FAINTEST).map(([weight, c]) => `${columns[c]} ${percentOf(weight)}`);
    setText(this.look, `Head ${attention.head + 1}, ${row} ← ${shares.join(", ")}.${faint ? ` ${faint} below 1% not drawn.` : ""}`);
  }
}

/** The story as an ordered list: every item leads to its moment. */
class StoryList {
  constructor(ride) {
    this.ride = ride;
    this.root = el("details", "story");
    this.root.append(el("summary", "", "The story as a list"));
    this.list = el("ol");
    this.root.append(this.list);
  }

  renew(data) {
    this.list.replaceChildren(
      ...data.moments.map((moment) => {
        const item = el("li");
        const button = el("button", "", moment.caption);
        button.type = "button";
        button.addEventListener("click", () => this.ride.to([moment.end], moment.end > this.ride.t ? 1 : -1));
        item.append(button);
        return item;
      }),
    );
  }
}

// --- what one can step into ------------------------------------------------------------------------------------------

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
  return [...blocks, ...columns];
}

/** What a block is called: “encoder, layer 1, self-attention”. */
function titleOf(data, panel, part) {
  const { name, parts } = data.panels[panel];
  const { layer, label } = parts[part];
  return [name, layer ? `layer ${layer}` : "", label.toLowerCase()].filter(Boolean).join(", ");
}
