// The machine at rest, with the sentence in it: a row of columns in every block, and who looks at whom.

const LOOP_MS = 8000; // one glow climbs from the first piece to the likeliest next one
const GLOW_MS = 60; // between two pictures of it
const PALE = { tile: 0.5, line: 0.22 }; // where the glow is not
const LIT = { tile: 1, line: 0.75 };
const WIDE = 0.045; // of the whole way, how far a glow reaches

/**
 * The picture of a machine at rest: see `sceneAt`. All that it makes of the sentence is there at once.
 *
 * glow: how far it has climbed, 0 to 1; without one, everything is half lit
 */
function restAt(data, view, glow = null) {
  const scene = Object.assign(sceneAt(data, 0, { ...view, rests: true }), { rests: true, pieces: [], tiles: [], lines: [], bars: [] });
  const count = scene.boxes.length;
  const lit = (panel, share) => (glow === null ? 0.5 : Math.exp(-(((panel + share) / count - glow) ** 2) / (2 * WIDE ** 2)));
  scene.boxes.forEach((box, panel) => {
    const { parts, tokens } = data.panels[panel];
    const h = Math.min(box.tile.h, Math.max(4, 0.42 * box.blocks[0].h));
    box.tile = { w: Math.min(box.tile.w, box.pitch - 3), h };
    box.levels = box.blocks.map(({ y }) => ({ y: y + 3 }));
    tokens.forEach((_, token) => addRestingPiece(scene, data, panel, token));
    parts.forEach((part, level) => {
      const share = lit(panel, (level + 1) / parts.length);
      if (part.kind === "output") return addRestingBar(scene, data, panel);
      if (part.kind === "attention") addRestingLines(scene, data, view, panel, level, mixed(PALE.line, LIT.line, share));
      if (part.result < 0) return;
      for (let token = 0; token < box.count; token++) {
        if (!inWindow(box, token)) continue;
        const x = columnX(box, token) - box.tile.w / 2;
        scene.tiles.push({ panel, level, token, tensor: part.result, x, y: box.levels[level].y, ...box.tile, alpha: mixed(PALE.tile, LIT.tile, share), reveal: 1 });
      }
    });
  });
  for (const pipe of scene.pipes) Object.assign(pipe, { filled: 1, reads: glow !== null && lit(0, 1) > 0.5 });
  scene.written = data.steps.at(-1).written;
  return scene;
}

function addRestingPiece(scene, data, panel, token) {
  const box = scene.boxes[panel];
  if (!inWindow(box, token)) return;
  const { tokens, ids } = data.panels[panel];
  const w = Math.max(14, box.pitch - (box.flat ? 6 : 1));
  scene.pieces.push({ panel, token, text: tokens[token], x: columnX(box, token) - w / 2, y: box.pieces.y, w, h: box.pieces.h, alpha: 1, frame: 1, id: ids[token], showId: 0, flat: box.flat, small: 1 });
}

/** The lines of the head that the story speaks of, from the row of columns below. */
function addRestingLines(scene, data, view, panel, level, alpha) {
  const box = scene.boxes[panel];
  const part = data.panels[panel].parts[level];
  const moment = data.moments.find((one) => one.panel === panel && one.part === level) ?? { panel, part: level, head: 0 };
  const from = part.memory < 0 ? box : scene.boxes[part.memory];
  const source = part.memory < 0 ? level - 1 : data.panels[part.memory].parts.length - 1;
  const own = part.memory < 0;
  const tensor = data.tensors[part.weights];
  const head = headOf(view, moment);
  // Of the memory the lines would run across the whole picture; the way of the memory stands for them.
  if (!own) return;
  for (let row = 0; row < box.count; row++) {
    if (!inWindow(box, row)) continue;
    for (let column = 0; column < from.count; column++) {
      const weight = weightOf(tensor, head, row, column);
      if (weight < 0.1 || !inWindow(from, column)) continue;
      const ends = { x1: columnX(from, column), y1: from.levels[source].y - 1, x2: columnX(box, row), y2: box.levels[level].y + box.tile.h + 1 };
      scene.lines.push({ tensor: part.weights, head, row, column, weight, strong: false, grown: 1, panel, part: level, memory: false, side: -1, ...ends, width: Math.max(0.6, 5 * weight), alpha, dot: 0 });
    }
  }
}

/** The likeliest piece behind all that was written. */
function addRestingBar(scene, data, panel) {
  const box = scene.boxes[panel];
  const block = box.blocks.at(-1);
  const step = data.steps.at(-1);
  const [text, share] = step.candidates[step.chosen];
  scene.bars.push({ text, share, small: true, chosen: true, step: data.steps.length - 1, x: box.x + PAD, y: block.y, w: box.inner, h: block.h, grown: 1, alpha: 1 });
}

/** Plays the slow loop of a machine at rest until it is touched; asks nothing of the server. */
class Loop {
  constructor(stage) {
    this.stage = stage;
    this.touched = false;
    const stop = () => this.touch();
    for (const kind of ["pointerdown", "keydown"]) stage.root.addEventListener(kind, stop, { capture: true, once: true });
    this.seen = new IntersectionObserver(([entry]) => (this.inSight = entry.isIntersecting));
    this.seen.observe(stage.picture);
  }

  /** Whether the machine stands still before its story. */
  get rests() {
    const { data, t, playing, clip, begins, inside } = this.stage;
    return Boolean(data) && t === 0 && !playing && !clip && !begins && !inside.shown;
  }

  touch() {
    this.touched = true;
    if (this.rests) this.stage.draw();
  }

  begin() {
    cancelAnimationFrame(this.frame);
    if (this.stage.calm.matches || this.touched || this.stage.closed) return;
    this.since = performance.now();
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    const { stage } = this;
    if (stage.closed || this.touched || !this.rests) return;
    if (this.inSight !== false && !document.hidden && now - (this.last ?? 0) >= GLOW_MS) {
      this.last = now;
      stage.painter.paint(restAt(stage.data, stage.view(), ((now - this.since) % LOOP_MS) / LOOP_MS), stage.camera);
    }
    this.frame = requestAnimationFrame((later) => this.tick(later));
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.seen.disconnect();
  }
}
