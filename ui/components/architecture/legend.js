// The two colour scales, and what the arrows from one stack into another carry. Needs chips.js and pictures.js.

/** The SVG nodes of all marks. */
function legend({ s, legend: corner, width }, arrivals, palette, lettering) {
  const nodes = [];
  const write = (x, y, text, name = "", anchor = "start") => {
    const node = draw("text", { class: name, "font-size": s.small, "text-anchor": anchor });
    put(node, { x, y });
    node.textContent = text;
    nodes.push(node);
  };
  const scale = (x, y, long, kind, [low, high]) => {
    const bar = draw("image", { preserveAspectRatio: "none", href: scaleImage(palette.scales[kind]) });
    put(bar, { x: x + 12, y: y - 8, width: long, height: 8 });
    nodes.push(bar);
    write(x, y, low);
    write(x + 12 + long + 5, y, high);
  };
  for (const { shaft, level, middle, foot } of s === SIZES.full ? arrivals : []) {
    write(shaft + 4, level - 6, "K", "key");
    write(shaft + 14, level - 6, "V", "value");
    write(middle - 6, foot + 13, "Q", "query", "end");
  }
  if (corner?.beside) {
    write(corner.x, corner.y, "Attention weights");
    scale(corner.x, corner.y + 15, 84, "weight", ["0", "1"]);
    write(corner.x, corner.y + 38, "Values");
    scale(corner.x, corner.y + 53, 84, "signed", ["−", "+"]);
  } else if (corner) {
    const [first, second] = ["Weights", "Values"].map((text) => lettering.width(text, s.small) + 6);
    const long = Math.min(60, (width - 2 * corner.x - first - second - 80) / 2);
    const [x, y] = [corner.x + first + long + 42, corner.y + 10];
    write(corner.x, y, "Weights");
    scale(corner.x + first, y, long, "weight", ["0", "1"]);
    write(x, y, "Values");
    scale(x + second, y, long, "signed", ["−", "+"]);
  }
  return nodes;
}
