// A sound as a wave and as a spectrogram; below, what each strip says, and equal neighbours that fall together.

const WAVE = 40; // pixels: of the wave, of the spectrogram, of what strips say, and between those and the cards
const SOUND = 96;
const SAYS = 30;
const SIGNS = 32; // above those, for a line of words and for signs
const FALL = 26;
const HEARD_CARD = 28;
const READABLE_STRIP = 9; // pixels of the narrowest strip whose sign is written

/** A spectrogram as a picture, its loudest cells in the colour of queries. */
const spectrogramOf = (() => {
  const drawn = new Map(); // the few that are on the page
  return (ink, high, colour) => {
    const name = colour + ink;
    if (!drawn.has(name)) {
      if (drawn.size > 8) drawn.clear();
      const canvas = document.createElement("canvas");
      Object.assign(canvas, { width: ink.length / high, height: high });
      const context = canvas.getContext("2d");
      context.fillStyle = colour;
      [...ink].forEach((sign, n) => {
        context.globalAlpha = parseInt(sign, 36) / INK_LEVELS;
        context.fillRect(n % canvas.width, Math.floor(n / canvas.width), 1, 1);
      });
      drawn.set(name, canvas.toDataURL());
    }
    return drawn.get(name);
  };
})();

const HEARD = {
  height: () => 20 + WAVE + SOUND + SIGNS + SAYS + FALL + HEARD_CARD + 4,

  draw(pen, data, width, palette, lent) {
    const n = data.strips.length;
    const strip = width / n;
    const line = round(strip * data.upto);
    const [middle, sound] = [20 + WAVE / 2, 20 + WAVE];
    const [says, cards] = [sound + SOUND + SIGNS, sound + SOUND + SIGNS + SAYS + FALL];
    pen.text(0, 13, data.title, "title");
    const step = width / lent.loud.length;
    const edge = (side) => [...lent.loud].map((sign, at) => `${round((at + 0.5) * step)} ${round(middle + (side * WAVE * parseInt(sign, 36)) / (2 * INK_LEVELS))}`);
    pen.put("path", { d: `M${[...edge(-1), ...edge(1).reverse()].join("L")}Z`, class: "wave" });
    pen.box(0, sound, width, SOUND, "paper");
    const href = spectrogramOf(lent.ink, lent.high, getComputedStyle(pen.svg).getPropertyValue("--query").trim());
    pen.put("image", { href, x: 0, y: sound, width: round(width), height: SOUND, preserveAspectRatio: "none", class: "sound" });
    for (const [first, last] of data.cards) pen.box(first * strip, sound, (last - first + 1) * strip, SOUND, "window");
    pen.text(0, sound + SOUND + 13, "what each strip says", "note");
    data.strips.forEach(([text, sure], at) => {
      const out = at < Math.round(data.upto);
      const high = text === data.blank ? 4 : 6 + (SAYS - 6) * sure;
      const bar = pen.box(at * strip + 0.5, says + SAYS - high, strip - 1, high, text === data.blank ? "room" : "fill query", 2);
      bar.style.opacity = out ? 1 : 0;
      if (strip >= READABLE_STRIP) pen.text((at + 0.5) * strip, says + SAYS - high - 2, out ? text : "", "tick", "middle");
    });
    for (const [first, last, text] of data.cards) {
      const x = ((first + last + 1) / 2) * strip;
      for (let at = first; at <= last; at++) pen.put("path", { d: `M${round((at + 0.5) * strip)} ${says + SAYS + 2}L${round(x)} ${cards - 1}`, class: "axis" });
      pen.box(x - 14, cards, 28, HEARD_CARD, "card query strong", 6);
      pen.text(x, cards + 19, text, "word strong", "middle");
    }
    pen.put("path", { d: `M${line} 20V${cards + HEARD_CARD}`, class: "upto" });
  },
};
