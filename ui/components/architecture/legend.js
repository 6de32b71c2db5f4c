// The two colour scales in the free corner, and what the arrows into encoder-decoder attention carry.

/** The marks of the legend, to be put into the map. live: whether blocks show tensors. */
function legendMarks({ s, at, right }, palette, { shaft, level }, live) {
  const marks = [];
  const write = (x, y, text, name = "", anchor = "start") => {
    const node = draw("text", { class: name, "font-size": s.small, "text-anchor": anchor });
    put(node, { x, y });
    node.textContent = text;
    marks.push(node);
  };
  if (s === SIZES.full) {
    const cross = at["decoder.cross_attn"];
    write(shaft + 4, level - 6, "K", "key");
    write(shaft + 14, level - 6, "V", "value");
    write(right - 6, cross.y + cross.h + 13, "Q", "query", "end");
  }
  if (!live) return marks;
  const x = s.edge + 8;
  const scale = (y, title, kind, ends) => {
    write(x, y, title);
    const long = 84;
    const bar = draw("image", { preserveAspectRatio: "none", href: scaleImage(palette.scales[kind]) });
    put(bar, { x: x + 12, y: y + 7, width: long, height: 8 });
    marks.push(bar);
    write(x, y + 15, ends[0]);
    write(x + 12 + long + 5, y + 15, ends[1]);
  };
  scale(at["output.softmax"].y + 12, "Attention weights", "weight", ["0", "1"]);
  scale(at["output.softmax"].y + 50, "Values", "signed", ["−", "+"]);
  return marks;
}
