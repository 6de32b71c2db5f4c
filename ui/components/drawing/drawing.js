// A sheet to draw on, a photo in its place, or a sample. Needs shared.js.
//
// Strokes stay in the browser while the page works on them, so that one can go on drawing. A photo is made small here:
// what is sent is a square of grey pixels.

const UNITS = 1000; // of a sheet's side, in which points are sent
const LINE = 75; // units that the pen is wide
const NEAR = 8; // units that it must move for another point
const POINTS = 3900; // of one stroke and of all, at most
const STROKES = 100;
const PHOTO_SIDE = 112;
const INK_LEVELS = 35;

class DrawingView {
  constructor(host) {
    this.root = el("section", "drawing");
    this.canvas = el("canvas");
    this.canvas.setAttribute("role", "img");
    this.text = el("div", "text");
    this.title = el("p", "title");
    this.note = el("p", "note");
    this.choices = el("div", "choices");
    this.tools = el("div", "tools");
    this.fault = el("p", "fault");
    setAttribute(this.fault, "role", "status");
    this.clear = this.button("Clear", () => {
      this.wipe();
      this.tell(["strokes", []]);
    });
    this.file = el("input");
    Object.assign(this.file, { type: "file", accept: "image/*", hidden: true });
    this.file.addEventListener("change", () => this.reduce(this.file.files[0]));
    this.tools.append(this.clear, this.button("Photo …", () => this.file.click()), this.file);
    this.text.append(this.title, this.choices, this.tools, this.fault, this.note);
    this.root.append(this.canvas, this.text);
    host.append(this.root);
    this.strokes = [];
    this.canvas.addEventListener("pointerdown", (event) => this.down(event));
    this.canvas.addEventListener("pointermove", (event) => this.moved(event));
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, (event) => this.up(event));
    this.sizes = new ResizeObserver(() => this.paint());
    this.sizes.observe(this.canvas);
  }

  close() {
    this.sizes.disconnect();
  }

  button(says, press) {
    const button = el("button", "", says);
    button.type = "button";
    button.addEventListener("click", press);
    return button;
  }

  update(data) {
    this.data = data;
    setText(this.title, data.title);
    setText(this.note, data.note);
    setAttribute(this.canvas, "aria-label", data.title);
    if (this.choices.children.length !== data.samples.length) {
      this.choices.replaceChildren(...data.samples.map((says, n) => this.button(says, () => this.take(n))));
    }
    [...this.choices.children].forEach((button, n) => setAttribute(button, "aria-pressed", String(n === data.chosen)));
    this.empty = false;
    this.paint();
  }

  tell(message) {
    this.send(message, "drawn");
  }

  /** A sample, in place of what was drawn: at once, so that the next stroke, begun before the answer, is not wiped. */
  take(n) {
    this.wipe();
    this.empty = false; // the page answers nothing new if this very sample is shown
    this.paint();
    this.tell(["sample", n]);
  }

  wipe() {
    this.strokes = [];
    this.photo = this.stroke = null;
    this.empty = true; // without the sample as well, until the page has answered
    setText(this.fault, "");
    this.paint();
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const within = (share) => Math.round(UNITS * Math.min(1, Math.max(0, share)));
    return [within((event.clientX - box.left) / box.width), within((event.clientY - box.top) / box.height)];
  }

  down(event) {
    if (event.button || this.stroke) return; // a second finger, or a palm
    if (this.strokes.length >= STROKES || this.full()) return setText(this.fault, "The sheet is full: press Clear.");
    event.preventDefault();
    this.finger = event.pointerId;
    this.canvas.setPointerCapture(event.pointerId);
    this.photo = null;
    setText(this.fault, "");
    this.stroke = this.point(event);
    this.strokes.push(this.stroke);
    this.paint();
  }

  moved(event) {
    if (!this.stroke || event.pointerId !== this.finger) return;
    const all = event.getCoalescedEvents?.() ?? []; // some browsers know of none, or give none
    for (const one of all.length ? all : [event]) {
      const [x, y] = this.point(one);
      const [before, above] = this.stroke.slice(-2);
      if (this.full() || Math.hypot(x - before, y - above) < NEAR) continue;
      this.stroke.push(x, y);
      this.line([before, above, x, y]);
    }
  }

  full() {
    return this.strokes.reduce((n, stroke) => n + stroke.length, 0) >= 2 * POINTS;
  }

  up(event) {
    if (!this.stroke || event.pointerId !== this.finger) return;
    this.stroke = null;
    this.tell(["strokes", this.strokes]);
  }

  /** A photo's middle square, in grey. Any file may be called a picture: only what the browser can draw is one. */
  async reduce(file) {
    this.file.value = "";
    if (!file) return;
    try {
      const photo = await createImageBitmap(file);
      const side = Math.min(photo.width, photo.height);
      const small = el("canvas");
      small.width = small.height = PHOTO_SIDE;
      const pen = small.getContext("2d", { willReadFrequently: true });
      pen.imageSmoothingQuality = "high";
      pen.fillStyle = "#fff"; // what is clear in the picture is paper
      pen.fillRect(0, 0, PHOTO_SIDE, PHOTO_SIDE);
      pen.drawImage(photo, (photo.width - side) / 2, (photo.height - side) / 2, side, side, 0, 0, PHOTO_SIDE, PHOTO_SIDE);
      photo.close();
      const { data } = pen.getImageData(0, 0, PHOTO_SIDE, PHOTO_SIDE);
      const grey = Array.from({ length: PHOTO_SIDE ** 2 }, (_, n) => Math.round(0.299 * data[4 * n] + 0.587 * data[4 * n + 1] + 0.114 * data[4 * n + 2]));
      this.wipe();
      this.photo = small;
      this.paint();
      this.tell(["photo", btoa(String.fromCharCode(...grey))]);
    } catch {
      setText(this.fault, "Your browser cannot read this file as a picture.");
    }
  }

  paint() {
    const side = this.canvas.clientWidth;
    if (!side || !this.data) return;
    const sharp = Math.round(side * devicePixelRatio);
    this.canvas.width = this.canvas.height = sharp; // which also wipes it
    this.pen = this.canvas.getContext("2d");
    const ink = getComputedStyle(this.root).color;
    Object.assign(this.pen, { fillStyle: ink, strokeStyle: ink, lineCap: "round", lineJoin: "round" });
    this.pen.lineWidth = (LINE / UNITS) * sharp;
    if (this.photo) this.pen.drawImage(this.photo, 0, 0, sharp, sharp);
    else if (this.strokes.length) this.strokes.forEach((stroke) => this.line(stroke));
    else if (!this.empty) this.given(sharp / this.data.size);
  }

  given(cell) {
    [...this.data.ink].forEach((sign, n) => {
      this.pen.globalAlpha = parseInt(sign, 36) / INK_LEVELS;
      this.pen.fillRect((n % this.data.size) * cell, Math.floor(n / this.data.size) * cell, cell + 0.5, cell + 0.5);
    });
    this.pen.globalAlpha = 1;
  }

  line(points) {
    const at = points.map((unit) => (unit / UNITS) * this.canvas.width);
    this.pen.beginPath();
    this.pen.moveTo(at[0], at[1]);
    this.pen.lineTo(at[0], at[1] + 0.01); // for a dot: a line of no length is not drawn
    for (let n = 2; n < at.length; n += 2) this.pen.lineTo(at[n], at[n + 1]);
    this.pen.stroke();
  }
}

export default mount(DrawingView);
