// The numbers of a sentence, as they came: two bytes each, see `packed` of data.py.

const DIVISORS = Array.from({ length: 240 }, (_, first) => 10 ** (9 - (Math.floor(first / 10) % 12)));

/** A number from its two bytes: change of sign, power of ten and first digit; the other two digits. */
function threeDigits(first, others, wasNegative) {
  if (first >= 240) return [NaN, Infinity, -Infinity][first - 240];
  const digits = 100 * (first % 10) + (others % 100);
  const size = (others < 100 ? digits : digits - 0.01) / DIVISORS[first]; // 100 more: it is a little less
  return first >= 120 === wasNegative ? size : -size;
}

/** What 98 of 100 of the values do not exceed in size: colours are full from there on. Found when first needed. */
function limitOf(tensor) {
  if (tensor.limit) return tensor.limit;
  const most = ({ values }) => {
    const sizes = new Float32Array(values);
    for (let n = 0; n < sizes.length; n++) sizes[n] = Math.abs(sizes[n]);
    sizes.sort();
    return sizes[Math.floor(0.98 * (sizes.length - 1))] || 1;
  };
  const limit = Math.max(...tensor.compared.map(most));
  for (const one of tensor.compared) one.limit = limit;
  return limit;
}

/** What came: a line of JSON, and behind it the numbers as bytes, see `with_bytes` of wire.py. */
function received(bytes) {
  const end = bytes.indexOf(10);
  return { ...JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))), numbers: bytes.subarray(end + 1) };
}

/** The data with its tensors by name and shape, still without values: enough to draw the machine at rest. */
function shaped(data) {
  const tensors = data.tensors.map(([name, shape, start]) => {
    const tensor = { name, shape, start, values: null };
    tensor.compared = [tensor]; // those whose colours have one limit
    return tensor;
  });
  for (const { parts } of data.panels)
    parts.forEach((part, n) => {
      if (part.kind !== "positions") return;
      const together = [parts[n - 1].result, part.added, part.result].map((one) => tensors[one]).filter(Boolean); // a clip may lack some
      together.forEach((one) => (one.compared = together));
    });
  const alike = { norm: ["x", "made", "sum", "normed"], widen: ["pre", "hidden"] }[data.near?.view] ?? [];
  const together = alike.map((what) => tensors[data.near[what]]);
  together.forEach((one) => (one.compared = together));
  return { ...data, tensors, moments: timed(data) };
}

/** Unpack the values of all tensors. One that begins another is a part of that: it was sent once. */
function fill(data) {
  const places = data.tensors.map(({ start, shape }) => ({ start, size: shape.reduce((a, b) => a * b, 1) }));
  const n = Math.max(...places.map(({ start, size }) => start + size));
  const bytes = inflated(data.numbers, 2 * n);
  const numbers = new Float64Array(n);
  let [end, before] = [0, 0];
  for (const { start, size } of places.toSorted((a, b) => a.start - b.start || b.size - a.size)) {
    if (start < end) continue;
    for (let at = start; at < start + size; at++)
      numbers[at] = threeDigits(bytes[at], bytes[n + at], size === before && numbers[at - size] < 0);
    [end, before] = [start + size, size];
  }
  data.tensors.forEach((tensor, k) => (tensor.values = numbers.subarray(places[k].start, places[k].start + places[k].size)));
}

/** The vector (d) of a row of a tensor (T,d). */
function vectorOf(tensor, row) {
  const width = tensor.shape[1];
  return tensor.values.subarray(row * width, (row + 1) * width);
}

/** A weight of a tensor (H,T,S). */
function weightOf(tensor, head, row, column) {
  const [, rows, columns] = tensor.shape;
  return tensor.values[(head * rows + row) * columns + column];
}

/** Three significant digits, at most four decimals, and a true minus sign. */
function shortNumber(value) {
  const size = Math.abs(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "?" : value > 0 ? "∞" : "−∞";
  if (size > 0 && size < 0.00005) return value < 0 ? ">−0.0001" : "<0.0001";
  const text = size === 0 ? "0" : size < 0.1 ? size.toFixed(4) : size < 1000 ? size.toPrecision(3) : size.toFixed(0);
  return (value < 0 ? "−" : "") + text;
}

/** A share in whole percent; what that would show as 0 or as all is not. */
function percentOf(share) {
  if (share > 0 && share < 0.01) return "<1%";
  const inPercent = Math.round(1e7 * share) / 1e5; // 100 · 0.285 is a hair less than 28.5
  return share >= 0.995 && share < 1 - 1e-6 ? ">99%" : `${Math.round(inPercent)}%`;
}
