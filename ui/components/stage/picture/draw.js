// Paints a scene on a canvas. Colours come from the theme; every column is painted once and then copied.

const rolesOf = (dark) =>
  dark
    ? { source: "#56b4e9", target: "#e09cc0", memory: "#2bc79b", focus: "#e69f00", query: "#56b4e9", key: "#e69f00", value: "#2bc79b", output: "#e09cc0" }
    : { source: "#0072b2", target: "#a3467a", memory: "#00795a", focus: "#b36b00", query: "#0072b2", key: "#9a6700", value: "#00795a", output: "#a3467a" };
const HUES = { embedding: "#e2607c", positions: "#8f72d8", attention: "#ef8b17", feed_forward: "#2f93d0", norm: "#a2b318", output: "#27a566" };

/** What stands on a block that is too narrow for its name. */
const BRIEF = { "Masked self-attention": "Masked attention", "Reads the memory": "Reads memory" };

/** The first colour on the way from one to another that can be seen on a ground. */
function seen(from, to, ground) {
  const shares = Array.from({ length: 21 }, (_, n) => n / 20);
  return mix(from, to, shares.find((share) => contrast(mix(from, to, share), ground) >= 3.4) ?? 1);
}

class Painter extends Strokes {
  constructor(canvas) {
    super();
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.sheets = new Map();
  }

  /** Forget what was painted for another sentence, size or theme. */
  renew(data, palette) {
    this.data = data;
    this.palette = palette;
    this.roles = rolesOf(palette.dark);
    this.sheets.clear();
    const style = getComputedStyle(this.canvas);
    this.family = style.fontFamily;
    const ground = parseColour(palette.ground);
    const text = parseColour(palette.text);
    const tint = (hue, share) => cssColour(mix(ground, parseColour(hue), share).map(Math.round));
    this.faint = (share) => cssColour(mix(ground, text, share).map(Math.round));
    const pale = (hue) => mix(ground, parseColour(hue), palette.dark ? 0.07 : 0.05);
    const rim = (hue) => cssColour(seen(parseColour(hue), text, pale(hue)).map(Math.round));
    this.tints = Object.fromEntries(Object.entries(HUES).map(([kind, hue]) => [kind, [tint(hue, palette.dark ? 0.2 : 0.13), cssColour(pale(hue).map(Math.round)), rim(hue)]]));
    this.side = (side, share) => tint(this.roles[side], share);
    const target = parseColour(this.roles.target);
    this.unchosen = cssColour(seen(mix(ground, target, 0.45), target, pale(HUES.output)).map(Math.round));
  }

  fit(width, height, ratio) {
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    this.ratio = ratio;
  }

  /** All columns of a tensor side by side, a pixel a number. */
  sheet(tensor, box) {
    if (this.sheets.has(tensor)) return this.sheets.get(tensor);
    const { values, shape } = this.data.tensors[tensor];
    const limit = limitOf(this.data.tensors[tensor]);
    const [rows, d] = shape;
    const { across, down } = box;
    const sheet = document.createElement("canvas");
    [sheet.width, sheet.height] = [rows * across, down];
    const image = sheet.getContext("2d").createImageData(sheet.width, down);
    const pixels = new Uint32Array(image.data.buffer);
    const { signed } = this.palette.scales;
    for (let row = 0; row < rows; row++)
      for (let i = 0; i < d; i++) {
        const level = levelOf(values[row * d + i], "signed", limit);
        pixels[Math.floor(i / across) * sheet.width + row * across + (i % across)] = level < 0 ? this.palette.neutralPixel : signed.pixels[level];
      }
    sheet.getContext("2d").putImageData(image, 0, 0);
    this.sheets.set(tensor, sheet);
    return sheet;
  }

  paint(scene, camera = { x: 0, y: 0, k: 1 }) {
    const { pen, ratio } = this;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.setTransform(ratio * camera.k, 0, 0, ratio * camera.k, -ratio * camera.k * camera.x, -ratio * camera.k * camera.y);
    pen.imageSmoothingEnabled = false;
    scene.boxes.forEach((box, n) => this.panel(scene, box, n));
    this.pipes(scene);
    for (const block of scene.blocks) this.block(scene, block);
    for (const slot of scene.slots) this.slot(slot);
    this.beams(scene);
    this.lines(scene);
    for (const block of scene.blocks) this.label(scene, block);
    for (const tile of scene.tiles) this.tile(scene, tile);
    this.memory(scene);
    this.marked(scene);
    for (const piece of scene.pieces) this.piece(piece);
    this.bars(scene);
    pen.globalAlpha = 1;
  }

  panel(scene, box, n) {
    const { pen } = this;
    const { name, side } = this.data.panels[n];
    pen.globalAlpha = 1;
    this.rect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1, 12);
    pen.fillStyle = this.faint(0.022);
    pen.fill();
    pen.lineWidth = 1;
    pen.strokeStyle = box.active ? this.side(side, 0.6) : this.faint(0.14);
    pen.stroke();
    this.text(name.toUpperCase(), box.x + PAD + 2, box.y + 14, { size: 11, weight: 700, align: "left", colour: this.roles[side] });
    if (this.data.panels[n].parts.at(-1).kind === "output") this.written(scene.written, box, side);
  }

  /** What is written so far, in the upper corner of the panel that writes; of a long text the end. */
  written(text, box, side) {
    const right = box.w - (arrowsOf(box) || PAD);
    const most = right - 100;
    this.pen.font = `650 13px ${this.family}`;
    let shown = text;
    while (shown && this.pen.measureText(`…${shown}`).width > most) shown = shown.slice(shown.search(/\s|$/) + 1);
    if (shown) this.text(shown === text ? text : `…${shown}`, box.x + right, box.y + 14, { size: 13, weight: 650, align: "right", colour: this.roles[side] });
  }

  block(scene, { panel, part, x, y, w, h, open, works }) {
    const { pen } = this;
    const { kind } = this.data.panels[panel].parts[part];
    const [solid, pale, rim] = this.tints[kind];
    if (scene.rests) open = 1; // a ground for what stands in it
    const bar = scene.rests ? 0 : barOf(scene.boxes[panel], h, open);
    pen.globalAlpha = 1;
    if (open > 0.01) {
      this.rect(x, y + 1, w, h - 2, 5);
      pen.fillStyle = pale;
      pen.fill();
    }
    this.rect(x, y + 1, w, bar - 2, 4);
    pen.fillStyle = solid;
    pen.fill();
    if (works && bar) {
      pen.lineWidth = 1;
      pen.strokeStyle = rim;
      pen.stroke();
    }
  }

  /** What stands on a block: in the middle of a closed one, at the upper edge of an open one, before its lines. */
  label(scene, { panel, part, x, y, w, h, open, works }) {
    const { label, layer } = this.data.panels[panel].parts[part];
    if (scene.rests) return h < 16 ? undefined : this.quiet(label, layer, x + w, y + h);
    const bar = barOf(scene.boxes[panel], h, open);
    if (bar < 11) return;
    const size = Math.max(10.5, Math.min(12, bar - 2));
    const short = w < 250; // room for the number of the layer only
    const middle = y + bar / 2 + 0.5;
    this.pen.globalAlpha = 1;
    const halo = open > 0.5 ? this.tints[this.data.panels[panel].parts[part].kind][0] : "";
    if (layer) this.text(short ? `${layer}` : `layer ${layer}`, x + 7, middle, { size, align: "left", colour: this.palette.muted, halo });
    const most = w - 2 * (short ? 16 : 48);
    const weight = works ? 650 : 400;
    this.pen.font = `${weight} ${size}px ${this.family}`;
    const fits = this.pen.measureText(label).width <= most;
    this.text(fits ? label : BRIEF[label] ?? label, x + w / 2, middle, { size, weight, most, halo });
  }

  /** At rest a block's name stands small in its corner, behind what is in it. */
  quiet(label, layer, right, low) {
    this.pen.globalAlpha = 1;
    const name = BRIEF[label] ?? label;
    this.text(layer ? `${name} ${layer}` : name, right - 5, low - 6, { size: 9.5, align: "right", colour: this.palette.muted, halo: this.palette.ground });
  }

  slot({ x, y, w, h, alpha }) {
    const { pen } = this;
    pen.globalAlpha = alpha;
    pen.lineWidth = 1;
    pen.strokeStyle = this.faint(0.22);
    pen.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
  }

  tile(scene, { panel, tensor, token, x, y, w, h, alpha, reveal }) {
    if (alpha < 0.01) return;
    const box = scene.boxes[panel];
    const rows = Math.max(1, Math.round(box.down * reveal));
    const skipped = box.down - rows;
    this.pen.globalAlpha = alpha;
    const [px, py] = [Math.round(x * this.ratio) / this.ratio, Math.round(y * this.ratio) / this.ratio];
    this.pen.drawImage(this.sheet(tensor, box), token * box.across, skipped, box.across, rows, px, py + (h * skipped) / box.down, w, (h * rows) / box.down);
  }

  /** A frame around the column that the story, or the pointer, is at. */
  marked(scene) {
    const { attention } = scene;
    if (!attention) return;
    const at = (level) => scene.tiles.find((one) => one.panel === attention.panel && one.level === level && one.token === attention.row && !one.added);
    const tile = at(attention.part) ?? at(attention.part - 1); // until there is a new column, the one that looks
    if (!tile) return;
    this.pen.globalAlpha = scene.boxes[attention.panel].open.parts[attention.part];
    this.pen.lineWidth = 2;
    this.pen.strokeStyle = this.roles.focus;
    this.rect(tile.x - 2.5, tile.y - 2.5, tile.w + 5, tile.h + 5, 4);
    this.pen.stroke();
  }

  piece({ panel, text, x, y, w, h, alpha, frame, id, showId, flat, small, size = 1 }) {
    const { pen } = this;
    const { side } = this.data.panels[panel];
    pen.globalAlpha = alpha;
    if (frame > 0.01) {
      pen.globalAlpha = alpha * frame;
      this.rect(x + 0.5, y + 0.5, w - 1, h - 1, 6);
      pen.fillStyle = this.side(side, this.palette.dark ? 0.2 : 0.09);
      pen.fill();
      pen.lineWidth = 1;
      pen.strokeStyle = this.side(side, 0.4);
      pen.stroke();
      pen.globalAlpha = alpha;
    }
    if (flat) {
      const type = size * (size * this.widthOf(text) > w - 6 ? 11 : 13);
      this.text(text, x + w / 2, y + h / 2 + 0.5, { size: type, most: frame < 0.9 ? 0 : w - 3 });
    }
    else this.upright(text, x + w / 2, y + h - 5 - (1 - frame) * (h / 2 - 5), frame < 0.9 ? 0 : h - 8, frame, small);
    if (showId > 0.01) {
      pen.globalAlpha = alpha * showId;
      if (flat) this.text(id.toLocaleString("en"), x + w / 2, y - 9, { size: 11, colour: this.palette.text, halo: this.palette.ground });
      else this.upright(id.toLocaleString("en"), x + w / 2, y - 5, 60);
    }
  }

  /** Text that runs upwards; `turned` 0 to 1 on its way there. */
  upright(text, x, y, most, turned = 1, small = 1) {
    const { pen } = this;
    pen.save();
    pen.translate(x, y);
    pen.rotate((-turned * Math.PI) / 2);
    this.text(text, 0, 0.5, { size: mixed(13 * small, 11.5, turned), align: turned < 0.5 ? "center" : "left", most });
    pen.restore();
  }
}

/** How high the coloured edge of a block is: of a closed one all of it. */
const barOf = (box, h, open) => Math.min(h, mixed(h, box.bar, open));
