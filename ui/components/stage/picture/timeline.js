// Time: which moment of the ride it is, and what each panel shows open in it. Nothing here draws.

const ease = (u) => (u <= 0 ? 0 : u >= 1 ? 1 : u * u * (3 - 2 * u));
const between = (u, from, to) => ease((u - from) / (to - from));
const mixed = (a, b, u) => a + (b - a) * u;

/** The moments with their starts and ends, and with what each panel has open in them. */
function timed(data) {
  let start = 0;
  const open = data.panels.map(() => ({ part: -1, levels: [] }));
  return data.moments.map((moment) => {
    const top = data.panels[moment.panel].parts.length - 1;
    if (moment.kind !== "pieces") open[moment.panel] = opening(moment, top);
    const one = { ...moment, start, end: start + moment.seconds, open: [...open] };
    start = one.end;
    return one;
  });
}

/** Which block of its panel a moment opens, and which rows of columns it shows; row n is what block n made. */
function opening({ kind, part }, top) {
  if (kind === "memory") return { part, levels: [part] };
  if (kind === "choose" || kind === "end") return { part: top, levels: [top - 1] };
  return { part, levels: part ? [part - 1, part] : [0] };
}

const lengthOf = (data) => data.moments.at(-1).end;

/** The number of the moment at time t; a time on the border belongs to the moment that ends there. */
function momentAt(data, t) {
  const n = data.moments.findIndex((moment) => t <= moment.end);
  return n < 0 ? data.moments.length - 1 : n;
}

/** Numbers of the moments behind which the ride stops. */
const stopsOf = (data) => data.moments.flatMap((moment, n) => (moment.stop ? [n] : []));

/** How far open every block of a panel is, and how visible every row of columns, at time t. */
function openness(data, panel, t) {
  const at = momentAt(data, t);
  const moment = data.moments[at];
  const before = data.moments[at - 1]?.open[panel] ?? { part: -1, levels: [] };
  const now = moment.open[panel];
  const quick = Math.min(0.4, 0.45 * moment.seconds);
  const u = ease((t - moment.start) / quick);
  const of = (was, is) => (was === is ? Number(is) : mixed(Number(was), Number(is), u));
  const n = data.panels[panel].parts.length;
  return {
    parts: Array.from({ length: n }, (_, i) => of(before.part === i, now.part === i)),
    levels: Array.from({ length: n }, (_, i) => of(before.levels.includes(i), now.levels.includes(i))),
  };
}

/** When a row of columns comes into being: the moment, and from where to where in it (0 to 1). */
function birth(data, panel, level, step) {
  const key = `${panel}/${level}/${step}`;
  data.births ??= new Map();
  if (data.births.has(key)) return data.births.get(key);
  const made = data.moments.flatMap((m, n) =>
    m.panel === panel && m.step === step && m.half !== 1 && ["block", "feed", "write", "choose"].includes(m.kind) ? [n] : [],
  );
  const n = made.find((one) => data.moments[one].part >= level);
  const found =
    n === undefined
      ? { n: made.at(-1), from: 0.8, to: 0.9 }
      : { n, ...(data.moments[n].part > level ? { from: 0.02, to: 0.3 } : makes(data, data.moments[n])) };
  data.births.set(key, found);
  return found;
}

/** When in its moment a block has made its result. */
function makes(data, moment) {
  const { kind } = data.panels[moment.panel].parts[moment.part];
  if (moment.kind === "feed") return { from: 0.6, to: 0.95 };
  if (moment.kind === "write") return { from: 0.45, to: 0.75 };
  if (moment.half === 2) return { from: 0.15, to: 0.85 };
  return { embedding: { from: 0.25, to: 0.85 }, positions: { from: 0.68, to: 0.9 } }[kind] ?? { from: 0.5, to: 0.92 };
}

/** How much of a row of columns is there at time t, from 0 to 1. */
function reveal(data, panel, level, step, t) {
  const { n, from, to } = birth(data, panel, level, step);
  if (n === undefined) return 0;
  const { start, seconds } = data.moments[n];
  return between((t - start) / seconds, from, to);
}

/** The step in which a token of a panel is read: -1 in the panels that read all at once. */
function stepOf(data, panel, token) {
  const writes = data.panels[panel].parts.at(-1).kind === "output";
  return writes ? Math.max(token, data.given - 1) : -1;
}

/** The tokens of a panel that are there in a moment: of what is written no more than was read by then. */
function tokensAt(data, panel, { step }) {
  const last = Math.max(step, data.given - 1);
  return data.panels[panel].tokens.filter((_, token) => stepOf(data, panel, token) <= last);
}
