// The stage: a sentence on its way through the whole machine. Everything it shows is in `data`; playing asks for nothing.

const CAMERA_MS = 350;
const BASE = 15.2; // pixels of the type beside a picture that is drawn as large as it is laid out

class Stage {
  constructor(host) {
    this.root = el("section", "stage");
    setAttribute(this.root, "role", "group");
    setAttribute(this.root, "aria-label", "The machine at work on your sentence");
    this.zoom = 1;
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
    this.loop = new Loop(this);
    this.leave = listen(this);
    this.root.scene = (t = this.t) => this.data && numbersOf(sceneAt(this.data, t, this.view()), this.data);
    this.root.rest = (glow) => numbersOf(restAt(this.data, this.view(), glow), this.data);
    this.root.ride = this;
  }

  close() {
    if (this.data && !this.clip && !this.begins) globalThis.rideLeft = { id: this.id, t: this.t };
    this.closed = true;
    this.setPlaying(false);
    this.loop.close();
    this.leave();
  }

  /** A new sentence starts anew, paused, one that was left at a moment stands there; nothing of the old one is drawn. */
  async update(bytes) {
    const given = received(bytes);
    this.presenting = given.presenting;
    // Streamlit calls every component again when the theme has changed.
    if (given.id === this.id) return this.dress();
    this.id = given.id;
    this.clip = given.small !== undefined;
    this.small = given.small ?? false;
    this.root.classList.toggle("clip", this.clip);
    this.root.classList.toggle("tiny", this.small);
    this.setPlaying(false);
    this.data = null;
    this.inside.shut(false);
    const data = shaped(given);
    Object.assign(this, { heads: {}, windows: [], focus: null, camera: undefined });
    if (data.near && !nearAt) {
      this.outline(data);
      await fetchLate();
    }
    fill(data);
    if (data.near) this.nearPainter ??= new NearPainter(this.painter);
    if (given.id !== this.id || this.closed) return;
    const [first, last] = data.clip.map((n) => data.moments[n]);
    this.begins = data.moments[given.start]; // of a ride that a lesson opened
    const left = globalThis.rideLeft?.id === data.id ? globalThis.rideLeft.t : 0; // on the way to another page
    Object.assign(this, { data, from: first.start, to: last.end, t: this.clip ? last.end : this.begins?.end ?? left, fresh: this.clip });
    setAttribute(this.canvas, "aria-label", `The machine, with the numbers of: ${data.text}`);
    this.controls.renew(data);
    this.list.renew(data);
    this.dress();
    this.root.dataset.id = data.id;
    this.loop.begin();
  }

  /** The machine at rest, with no number in it: what is seen while the code for a block from near is fetched. */
  outline(data) {
    this.painter.renew(data, paletteOf(this.root));
    this.fit();
    const view = this.view();
    if (!view.width) return;
    this.painter.fit(view.width, view.height, this.ratio());
    this.painter.paint(sceneAt(data, 0, view));
    this.root.dataset.outline = data.id;
  }

  /** Take up the colours of the theme. */
  dress() {
    if (!this.data) return;
    const palette = paletteOf(this.root);
    setAttribute(this.root, "data-theme", palette.dark ? "dark" : "light");
    this.painter.renew(this.data, palette);
    this.nearPainter?.renew();
    this.fit();
    this.draw();
  }

  view() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const widthOf = (text) => this.painter.widthOf(text);
    return { width: width / this.zoom, height: height / this.zoom, small: this.small, heads: this.heads, focus: this.focus, windows: this.windows, widthOf };
  }

  /** As high as the first screen, or a dialog, has room for; drawn as large as the type beside it. */
  fit() {
    this.zoom = Math.max(1, parseFloat(getComputedStyle(this.root).fontSize) / BASE);
    for (const { root } of [this.proxies, this.shifts]) root.style.zoom = this.zoom;
    if (document.fullscreenElement || this.small) return;
    const dialog = this.root.getRootNode().host.closest("[role=dialog]");
    if (dialog) return this.root.style.setProperty("--height", `${Math.max(368, 0.82 * innerHeight - 230)}px`);
    if (this.root.clientWidth < NARROW && !this.clip) {
      const rest = this.controls.root.offsetHeight + 332; // the page's header, what is said while it plays, and gaps
      return this.root.style.setProperty("--height", `${Math.max(425, innerHeight - rest)}px`);
    }
    const said = this.clip ? this.card.root.offsetHeight : 0; // of a ride it stands beside the picture
    const room = innerHeight - this.top() - this.controls.root.offsetHeight - said - 22 - (said && 10);
    this.root.style.setProperty("--height", `${Math.min(900, Math.max(this.clip ? 300 : 368, room))}px`);
  }

  /** Where it begins on a page that is not scrolled. */
  top() {
    return this.root.getBoundingClientRect().top + (document.querySelector("[data-testid=stMain]")?.scrollTop ?? 0);
  }

  /** Pixels of the screen for one of the layout. */
  ratio() {
    return (devicePixelRatio || 1) * this.zoom;
  }

  draw() {
    if (!this.data || !this.canvas.clientWidth) return;
    const view = this.view();
    this.painter.fit(view.width, view.height, this.ratio());
    const { rests } = this.loop;
    this.root.classList.toggle("rests", rests);
    this.scene = rests ? restAt(this.data, view) : sceneAt(this.data, this.t, view);
    if (this.scene.near?.alpha !== 1) this.painter.paint(this.scene, this.scene.camera ?? this.camera);
    if (this.scene.near) this.nearPainter.paint(this.scene.near);
    this.controls.show(this);
    this.card.show(this);
    this.shifts.show(this.scene, this.data);
    if (!this.playing && !this.clip) this.proxies.show(this.scene, this.data);
  }

  // --- time ----------------------------------------------------------------------------------------------------------

  go(t) {
    this.t = Math.min(this.to, Math.max(this.from, t));
    this.fresh = false;
    this.inside.shut(false); // what it shows is of the moment that it was opened in
    this.draw();
  }

  toggle() {
    if (!this.data) return;
    if (!this.playing && (this.fresh || this.t >= this.to)) this.go(this.from);
    if (this.calm.matches) return this.read();
    this.setPlaying(!this.playing);
    if (this.playing && !this.small && this.view().width < NARROW) this.root.scrollIntoView({ block: "start", behavior: "smooth" });
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
    const halt = stop !== undefined && this.stops && !this.clip;
    if (halt) t = stop;
    const over = t >= this.to;
    if (halt || over) {
      this.t = Math.min(t, this.to);
      return this.setPlaying(false);
    }
    this.go(t);
    this.frame = requestAnimationFrame((later) => this.tick(later));
  }

  /** To the end of the next moment, or of the one before. */
  step(by) {
    const ends = [0, ...this.data.moments.map((moment) => moment.end)];
    this.leap(ends, by);
  }

  /** To where something else is said: how it goes on without motion. */
  read() {
    const { moments } = this.data;
    this.leap(moments.filter((one, n) => one.caption !== moments[n + 1]?.caption).map((one) => one.end), 1);
  }

  /** To the next stop, or to the one before. */
  stop(by) {
    this.leap([0, ...stopsOf(this.data).map((n) => this.data.moments[n].end)], by);
  }

  leap(times, by) {
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

  /** Ask the page what the model does without the head that is shown. */
  switchOff() {
    const { panel, part, head, row } = this.scene.attention;
    this.ask([panel, part, head, row], "off");
  }

  /** Ask the page how a number came about, or for something else, and bring the answer into sight. */
  ask(cell, what = "select") {
    if (document.fullscreenElement) document.exitFullscreen();
    const answer = () => document.querySelector(".st-key-asked");
    const before = answer()?.textContent;
    const asked = JSON.stringify([what, cell, this.id]);
    const again = asked === this.asked; // its answer may stand there already
    this.asked = asked;
    this.send(cell, what);
    const until = performance.now() + 8000;
    const look = () => {
      if (this.closed || performance.now() > until) return;
      if (answer() && (again || answer().textContent !== before)) this.bring(answer());
      else setTimeout(look, 100);
    };
    look();
  }

  /** Scroll to a part of the page while it still grows. */
  bring(node) {
    const watch = new ResizeObserver(() => node.scrollIntoView({ block: "nearest", behavior: this.calm.matches ? "auto" : "smooth" }));
    watch.observe(node);
    setTimeout(() => watch.disconnect(), 3000);
  }

  /** Ask the page for the whole machine, at what is shown here. */
  whole() {
    this.setPlaying(false);
    this.send(this.scene.n, "whole");
  }

  fullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.root.requestFullscreen?.();
  }

  // --- inside --------------------------------------------------------------------------------------------------------

  /** Step inside what stands at a place of the picture. */
  enter(what) {
    if (!what || !this.data) return;
    if (this.clip) return this.whole();
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

export default mount(Stage);
