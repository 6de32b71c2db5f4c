// What one operates the ride with: buttons, the time line with its stops, speed, switches.

const SPEEDS = [0.5, 1, 2, 4];

class Controls {
  /** ride: play, go(t), step(±1), stop(±1), home, end, and the switches; see Stage. */
  constructor(ride) {
    this.ride = ride;
    this.root = el("div", "transport");
    this.play = this.button("play", "Play", () => ride.toggle());
    this.play.append(this.icon("M7 4l13 8-13 8z"));
    this.back = this.button("small", "Step back", () => ride.step(-1), "M15 5l-8 7 8 7M5 5v14");
    this.next = this.button("small", "Step on", () => ride.step(1), "M9 5l8 7-8 7M19 5v14");
    this.line = el("div", "line");
    this.range = el("input", "range");
    Object.assign(this.range, { type: "range", min: 0, step: 0.01, value: 0 });
    setAttribute(this.range, "aria-label", "Where the ride is");
    this.range.addEventListener("input", () => ride.go(timeAt(ride.data, Number(this.range.value))));
    this.marks = el("div", "marks");
    this.line.append(this.range, this.marks);
    this.speed = el("select", "speed");
    setAttribute(this.speed, "aria-label", "Speed");
    for (const speed of SPEEDS) {
      const option = el("option", "", `${speed === 0.5 ? "½" : speed}×`);
      option.value = speed;
      this.speed.append(option);
    }
    this.speed.value = "1";
    this.speed.addEventListener("change", () => (ride.speed = Number(this.speed.value)));
    this.stops = this.toggle("Stops", "Pause at each of the named stops", () => ride.setStops(!ride.stops));
    this.captions = this.toggle("Captions", "Show the captions", () => ride.setCaptions(!ride.captions));
    this.full = this.button("small", "Full screen", () => ride.fullScreen(), "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5");
    this.full.hidden = !document.fullscreenEnabled; // as on a phone of Apple's, or in a frame that does not allow it
    this.whole = el("button", "toggle whole", "The whole machine");
    this.whole.type = "button";
    this.whole.hidden = true;
    this.whole.addEventListener("click", () => ride.whole());
    this.root.append(this.play, this.back, this.next, this.line, this.speed, this.stops, this.captions, this.full, this.whole);
  }

  button(kind, name, act, path = "") {
    const button = el("button", kind);
    button.type = "button";
    setAttribute(button, "aria-label", name);
    setAttribute(button, "title", name);
    if (path) button.append(this.icon(path));
    button.addEventListener("click", act);
    return button;
  }

  icon(path) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    setAttribute(svg, "viewBox", "0 0 24 24");
    setAttribute(svg, "aria-hidden", "true");
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    setAttribute(line, "d", path);
    svg.append(line);
    return svg;
  }

  toggle(name, title, act) {
    const button = el("button", "toggle", name);
    button.type = "button";
    setAttribute(button, "aria-pressed", "true");
    setAttribute(button, "title", title);
    button.addEventListener("click", act);
    return button;
  }

  /** The stops of another ride, below its time line. */
  renew(data) {
    const stops = stopsOf(data);
    this.range.max = stops.length;
    this.marks.replaceChildren(
      ...stops.map((n, i) => {
        const { end, stop } = data.moments[n];
        const mark = el("button", "mark", stop);
        mark.type = "button";
        mark.style.setProperty("--at", (i + 1) / stops.length);
        setAttribute(mark, "aria-label", `Go to the stop: ${stop}`);
        mark.addEventListener("click", () => this.ride.go(end));
        return mark;
      }),
    );
  }

  show({ t, from, to, data, playing, stops, captions, clip, fresh }) {
    const length = lengthOf(data);
    const value = placeOf(data, t);
    this.range.value = value;
    this.range.style.setProperty("--done", value / this.range.max);
    const moment = data.moments[momentAt(data, t)];
    setAttribute(this.range, "aria-valuetext", `${t.toFixed(1)} of ${length.toFixed(1)} seconds. ${moment.caption}`);
    const over = t >= to;
    const name = playing ? "Pause" : fresh ? "Play" : over ? "Play again" : t > from ? "Go on" : "Play";
    if (this.play.title !== name) {
      setAttribute(this.play, "aria-label", name);
      setAttribute(this.play, "title", name);
      setAttribute(this.play.firstChild.firstChild, "d", playing ? "M6 4h4v16H6zM14 4h4v16h-4z" : "M7 4l13 8-13 8z");
    }
    this.whole.hidden = !clip;
    this.back.disabled = t <= from;
    this.next.disabled = over;
    setAttribute(this.stops, "aria-pressed", String(stops));
    setAttribute(this.captions, "aria-pressed", String(captions));
    const at = stopsOf(data).findIndex((n) => Math.abs(data.moments[n].end - t) < 0.02);
    [...this.marks.children].forEach((mark, n) => mark.classList.toggle("here", n === at));
  }
}

/** The stops stand at equal distances on the time line: its places count them. */
function placeOf(data, t) {
  const ends = [0, ...stopsOf(data).map((n) => data.moments[n].end)];
  const n = ends.findIndex((end) => t <= end);
  return n < 1 ? (n === 0 ? 0 : ends.length - 1) : n - 1 + (t - ends[n - 1]) / (ends[n] - ends[n - 1]);
}

function timeAt(data, place) {
  const ends = [0, ...stopsOf(data).map((n) => data.moments[n].end)];
  const n = Math.min(ends.length - 2, Math.floor(place));
  return mixed(ends[n], ends[n + 1], place - n);
}
