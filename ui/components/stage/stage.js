// The stage: a sentence on its way through the whole machine. Everything it shows is in `data`; playing asks for nothing.

const CAMERA_MS = 350;

class Stage {
  constructor(host) {
    this.root = el("section", "stage");
    setAttribute(this.root, "role", "group");
    setAttribute(this.root, "aria-label", "The machine at work on your sentence");
    this.picture = el("div", "picture");
    this.canvas = el("canvas");
    setAttribute(this.canvas, "role", "img");
    this.picture.append(this.canvas);
    this.proxies = new Proxies(this);
    this.card = new Card(this);
    this.inside = new Inside(this);
    this.controls = new Controls(this);
    this.list = new StoryList(this);
    this.shifts = new Shifts(this);
    this.picture.append(this.proxies.root, this.shifts.root, this.inside.root);
    this.root.append(this.picture, this.card.root, this.controls.root, this.list.root);
    host.append(this.root);

    Object.assign(this, { t: 0, speed: 1, playing: false, stops: true, captions: true, heads: {}, windows: [], focus: null });
    this.painter = new Painter(this.canvas);
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.leave = listen(this);
    this.root.scene = (t = this.t) => this.data && numbersOf(sceneAt(this.data, t, this.view()), this.data);
    this.root.ride = this;
  }

  close() {
    this.closed = true;
    this.setPlaying(false);
    this.leave();
    this.root.remove();
  }

  /** A new sentence starts anew, paused; nothing of the old one is drawn while its numbers are unpacked. */
  async update(given) {
    if (given.id === this.id) return;
    this.id = given.id;
    this.setPlaying(false);
    this.data = null;
    this.inside.shut(false);
    const data = shaped(given);
    this.outline(data);
    await fill(data);
    if (given.id !== this.id || this.closed) return;
    Object.assign(this, { data, t: 0, heads: {}, windows: [], focus: null });
    setAttribute(this.canvas, "aria-label", `The machine, with the numbers of: ${data.text}`);
    this.controls.renew(data);
    this.list.renew(data);
    this.dress();
    this.root.dataset.id = data.id;
  }

  /** The machine at rest, with no number in it: what is seen while the numbers are unpacked. */
  outline(data) {
    Object.assign(this, { heads: {}, windows: [], focus: null, camera: undefined });
    this.painter.renew(data, paletteOf(this.root));
    this.fit();
    const view = this.view();
    if (!view.width) return;
    this.painter.fit(view.width, view.height, devicePixelRatio || 1);
    this.painter.paint(sceneAt(data, 0, view));
    this.root.dataset.outline = data.id;
  }

  /** Take up the colours of the theme. */
  dress() {
    if (!this.data) return;
    const palette = paletteOf(this.root);
    setAttribute(this.root, "data-theme", palette.dark ? "dark" : "light");
    this.painter.renew(this.data, palette);
    this.fit();
    this.draw();
  }

  view() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const widthOf = (text) => this.painter.widthOf(text);
    return { width, height, heads: this.heads, focus: this.focus, windows: this.windows, widthOf };
  }

  /** As high as the first screen has room for. */
  fit() {
    if (document.fullscreenElement) return;
    const top = this.root.getBoundingClientRect().top + (document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0);
    const room = innerHeight - top - this.controls.root.offsetHeight - 22;
    this.root.style.setProperty("--height", `${Math.min(900, Math.max(350, room))}px`);
  }

  draw() {
    if (!this.data || !this.canvas.clientWidth) return;
    const view = this.view();
    this.painter.fit(view.width, view.height, devicePixelRatio || 1);
    this.scene = sceneAt(this.data, this.t, view);
    this.painter.paint(this.scene, this.camera);
    this.controls.show(this);
    this.card.show(this);
    this.shifts.show(this.scene, this.data);
    if (!this.playing) this.proxies.show(this.scene, this.data);
  }

  // --- time ----------------------------------------------------------------------------------------------------------

  go(t) {
    this.t = Math.min(lengthOf(this.data), Math.max(0, t));
    this.draw();
  }

  toggle() {
    if (!this.data) return;
    if (!this.playing && this.t >= lengthOf(this.data)) this.t = 0;
    if (this.calm.matches) return this.stop(1);
    this.setPlaying(!this.playing);
    if (this.playing && this.view().width < NARROW) this.root.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  setPlaying(on) {
    this.playing = on;
    this.root.classList.toggle("playing", on);
    cancelAnimationFrame(this.frame);
    if (on) {
      this.inside.shut();
      this.last = null;
      this.frame = requestAnimationFrame((now) => this.tick(now));
    }
    this.draw();
  }

  tick(now) {
    const passed = this.last === null ? 0 : Math.min(100, now - this.last) / 1000;
    this.last = now;
    const before = this.t;
    let t = before + passed * this.speed;
    const ends = stopsOf(this.data).map((n) => this.data.moments[n].end);
    const stop = ends.find((end) => end > before && end <= t + 1e-6); // sums of times are a hair off
    const halt = stop !== undefined && this.stops;
    if (halt) t = stop;
    const over = t >= lengthOf(this.data);
    if (halt || over) {
      this.t = Math.min(t, lengthOf(this.data));
      return this.setPlaying(false);
    }
    this.go(t);
    this.frame = requestAnimationFrame((later) => this.tick(later));
  }

  /** To the end of the next moment, or of the one before. */
  step(by) {
    const ends = [0, ...this.data.moments.map((moment) => moment.end)];
    this.to(ends, by);
  }

  /** To the next stop, or to the one before. */
  stop(by) {
    this.to([0, ...stopsOf(this.data).map((n) => this.data.moments[n].end)], by);
  }

  to(times, by) {
    if (this.playing) this.setPlaying(false);
    const next = by > 0 ? times.find((t) => t > this.t + 1e-6) : times.findLast((t) => t < this.t - 1e-6);
    if (next !== undefined) this.go(next);
  }

  // --- switches ------------------------------------------------------------------------------------------------------

  setStops(on) {
    this.stops = on;
    this.draw();
  }

  setCaptions(on) {
    this.captions = on;
    this.root.classList.toggle("silent", !on);
    this.draw();
  }

  chooseHead(head) {
    const { attention } = this.scene;
    if (attention) this.heads[`${attention.panel}.${attention.part}`] = head;
    this.draw();
  }

  /** Move the window over the pieces of a panel. */
  shift(panel, by) {
    const box = this.scene.boxes[panel];
    this.windows[panel] = Math.min(box.count - box.shown, Math.max(0, Math.round(box.first) + by));
    this.draw();
  }

  fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.root.requestFullscreen?.();
  }

  // --- inside --------------------------------------------------------------------------------------------------------

  /** Step inside what stands at a place of the picture. */
  enter(what) {
    if (!what || !this.data) return;
    this.setPlaying(false);
    this.inside.open(what);
    this.moveCamera(what.rect);
  }

  /** Move the camera to a part of the picture, or back to all of it. */
  moveCamera(rect) {
    const { width, height } = this.view();
    const k = rect ? Math.min(5, Math.max(1.4, (0.6 * height) / Math.max(20, rect.h))) : 1;
    const clamp = (value, most) => Math.min(most, Math.max(0, value));
    const to = rect
      ? { k, x: clamp(rect.x + rect.w / 2 - width / k / 2, width - width / k), y: clamp(rect.y + rect.h / 2 - height / k / 2, height - height / k) }
      : { k: 1, x: 0, y: 0 };
    const from = this.camera ?? { k: 1, x: 0, y: 0 };
    cancelAnimationFrame(this.zooming);
    const began = performance.now();
    const move = (now) => {
      const u = this.calm.matches ? 1 : ease((now - began) / CAMERA_MS);
      this.camera = { k: mixed(from.k, to.k, u), x: mixed(from.x, to.x, u), y: mixed(from.y, to.y, u) };
      this.draw();
      if (u < 1 && !this.closed) this.zooming = requestAnimationFrame(move);
    };
    if (from.k !== to.k || from.x !== to.x || from.y !== to.y) this.zooming = requestAnimationFrame(move);
  }
}

/** The pointer, the keys, the size, the theme, and whether anyone looks. Returns a function that ends all that. */
function listen(stage) {
  const { canvas, root } = stage;
  const size = () => {
    stage.fit();
    stage.draw();
  };
  const resize = new ResizeObserver(size);
  resize.observe(canvas);
  addEventListener("resize", size);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const dress = () => stage.dress();
  const hide = () => document.hidden && stage.playing && stage.setPlaying(false);
  const press = (event) => pressed(stage, event);
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.x, event.clientY - box.y];
  };
  const over = (event) => {
    if (!stage.data || stage.inside.shown) return;
    const what = thingAt(stage.scene, ...place(event));
    canvas.style.cursor = what ? "pointer" : "";
    const focus = what?.token !== undefined ? { panel: what.panel, token: what.token } : null;
    if (JSON.stringify(focus) === JSON.stringify(stage.focus)) return;
    stage.focus = focus;
    if (!stage.playing) stage.draw();
  };
  const leave = () => {
    stage.focus = null;
    if (!stage.playing) stage.draw();
  };
  canvas.addEventListener("pointermove", over);
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("click", (event) => stage.data && stage.enter(thingAt(stage.scene, ...place(event))));
  scheme.addEventListener("change", dress);
  document.addEventListener("visibilitychange", hide);
  document.addEventListener("keydown", press, true);
  root.addEventListener("fullscreenchange", () => stage.draw());
  return () => {
    resize.disconnect();
    removeEventListener("resize", size);
    cancelAnimationFrame(stage.zooming);
    scheme.removeEventListener("change", dress);
    document.removeEventListener("visibilitychange", hide);
    document.removeEventListener("keydown", press, true);
  };
}

/** Keys act when the focus is on the stage or on nothing, never while one types. */
function pressed(stage, event) {
  if (!stage.data || event.ctrlKey || event.altKey || event.metaKey) return;
  const path = event.composedPath();
  const here = path.includes(stage.root);
  if (!here && !(onNothing() && stage.root.getBoundingClientRect().bottom > 120)) return;
  const target = path[0];
  if (target.matches?.("select, textarea, input:not([type=range])")) return;
  if (event.key === "Escape" && stage.inside.shown) stage.inside.shut();
  else if (here && stage.inside.root.contains(target)) return;
  else if (here && target.matches?.("[data-arrows], [data-arrows] *")) return;
  else if (event.key === " " && target.matches?.("button, summary")) return;
  else if (!act(stage, event.key)) return;
  event.preventDefault();
  event.stopPropagation();
}

/** Whether the focus is on nothing in particular: a click on the page itself gives it to the part that scrolls. */
function onNothing() {
  const { activeElement, body } = document;
  return !activeElement || activeElement === body || activeElement.matches("[data-testid=stMain], main");
}

function act(stage, key) {
  const keys = {
    " ": () => stage.toggle(),
    ArrowRight: () => stage.step(1),
    ArrowLeft: () => stage.step(-1),
    PageDown: () => stage.stop(1),
    PageUp: () => stage.stop(-1),
    Home: () => stage.go(0),
    End: () => stage.go(lengthOf(stage.data)),
  };
  keys[key]?.();
  return key in keys;
}

export default mount(Stage);
