// What is said beside the picture: the caption, what the piece in focus looks at, the heads; and the story as a list.

class Card {
  constructor(ride) {
    this.root = el("aside", "card");
    setAttribute(this.root, "aria-label", "What happens");
    this.count = el("p", "count");
    this.earlier = el("div", "earlier");
    this.caption = el("p", "caption");
    setAttribute(this.caption, "aria-live", "polite");
    this.heads = el("div", "heads");
    setAttribute(this.heads, "role", "group");
    setAttribute(this.heads, "aria-label", "Attention head");
    this.look = el("p", "look");
    this.enter = el("button", "enter", "Step inside");
    this.enter.type = "button";
    this.enter.addEventListener("click", () => ride.enter(whatWorks(ride.scene, ride.data)));
    this.onward = el("button", "enter onward");
    this.onward.type = "button";
    this.onward.addEventListener("click", () => ride.toggle());
    this.off = el("button", "enter off", "Switch this head off");
    this.off.type = "button";
    this.off.addEventListener("click", () => ride.switchOff());
    this.scale = el("p", "scale");
    this.scaleText = el("span");
    this.scale.append(el("i", "ramp"), this.scaleText);
    this.ways = el("div", "ways");
    this.ways.append(this.onward, this.enter, this.off);
    this.ways.hidden = this.scale.hidden = true; // until there are numbers
    this.root.append(this.count, this.earlier, this.caption, this.heads, this.look, this.ways, this.scale);
    this.ride = ride;
  }

  show({ scene, data, playing, t, to, captions, clip, inside }) {
    const stops = stopsOf(data);
    const at = stops.filter((n) => data.moments[n].end <= t + 0.02).length;
    const here = stops.find((n) => n >= scene.n);
    setText(this.count, t === 0 ? "" : `${Math.min(stops.length, at + (data.moments[stops[at - 1]]?.end >= t - 0.02 ? 0 : 1))} of ${stops.length} · ${data.moments[here ?? stops.at(-1)].stop}`);
    const touch = matchMedia("(pointer: coarse)").matches || this.ride.view().width < NARROW;
    const invite = `${data.intro} Press play${touch ? "" : ", or the space bar"}. Stop anywhere, and ${touch ? "touch" : "click"} any block, column or line.`;
    setText(this.caption, captions ? (t === 0 ? invite : scene.moment.by_head[headOf(this.ride, scene.moment)] ?? scene.moment.caption) : "");
    this.showHeads(scene, data);
    const still = t > 0 && !playing && !clip;
    this.enter.hidden = !still || inside.shown || scene.moment.kind === "pieces";
    this.ways.hidden = this.onward.hidden = !still || inside.shown;
    const reads = scene.attention && data.panels[scene.attention.panel].parts[scene.attention.part].memory >= 0;
    this.off.hidden = !still || inside.shown || !reads || !data.switches;
    setText(this.onward, t >= to ? "Watch again" : "Go on →");
    const { part, panel } = scene.moment;
    const tensor = data.tensors[data.panels[panel].parts[Math.max(0, part)].result] ?? data.tensors[data.panels[panel].parts[part - 1].result];
    const limit = shortNumber(limitOf(tensor));
    this.scale.hidden = !scene.tiles.length;
    setText(this.scaleText, `−${limit} to ${limit} and beyond`);
    setAttribute(this.scale, "title", "Colours of the numbers in the newest row of columns");
    this.showEarlier(data, scene.n, still && captions ? stops.findLast((n) => n < scene.n) ?? -1 : scene.n);
  }

  /** What was said since moment `from`, before moment `to`: a stop leaves time to read it. The last of it, as far as there is room. */
  showEarlier(data, to, from) {
    const said = new Set(data.moments.slice(from + 1, to).map((moment) => moment.caption));
    said.delete(data.moments[to].caption);
    const lines = [...said];
    this.earlier.hidden = !lines.length;
    while (lines.length) {
      setText(this.earlier, lines.join("\n"));
      if (this.earlier.scrollHeight <= this.earlier.clientHeight + 1) return;
      lines.shift();
    }
    this.earlier.hidden = true;
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
    const faint = scene.lines.length && weights.filter((weight) => weight > 0 && weight < FAINTEST).length;
    const row = data.panels[attention.panel].tokens[attention.row];
    const shares = best.filter(([weight]) => weight >= FAINTEST).map(([weight, c]) => `${columns[c]} ${percentOf(weight)}`);
    const thick = scene.lines.length ? " The thicker a line, the larger the share." : "";
    setText(this.look, `Head ${attention.head + 1}, ${row} ← ${shares.join(", ")}.${thick}${faint ? ` ${faint} ${faint > 1 ? "lines" : "line"} under 1% ${faint > 1 ? "are" : "is"} hidden.` : ""}`);
  }
}

/** The story as an ordered list: every item leads to its moment; what is said of several in a row, to the last of them. */
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
      ...data.moments.filter(({ caption }, n) => caption !== data.moments[n + 1]?.caption).map((moment) => {
        const item = el("li");
        const button = el("button", "", moment.caption);
        button.type = "button";
        button.addEventListener("click", () => this.ride.leap([moment.end], moment.end > this.ride.t ? 1 : -1));
        item.append(button);
        return item;
      }),
    );
  }
}
