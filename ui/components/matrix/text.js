// Labels and numbers as a matrix writes them. Needs colour.js.

const LABEL_LENGTH = 15; // characters of a label that are shown; the full text is in its tooltip and the readout
const NO_NUMBER = "not a number";

function short(label) {
  const letters = Array.from(label);
  return letters.length > LABEL_LENGTH ? letters.slice(0, LABEL_LENGTH - 1).join("") + "…" : label;
}

const widths = new Map();

/** Width in pixels of `text` in `font` (a CSS font). */
function textWidth(text, font) {
  const id = font + "\n" + text;
  if (!widths.has(id)) {
    if (widths.size > 5000) widths.clear();
    pen.font = font;
    widths.set(id, pen.measureText(text).width);
  }
  return widths.get(id);
}

/** `value` with a fixed number of decimals, a real minus sign and no minus before zero. */
function numeral(value, digits) {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? "−" + text : text;
}

/** Four decimals; by its size if they would show it as 0, as `legible` of ui/text.py writes it: 3.2 · 10⁻⁶. */
function readable(value) {
  if (!value || !(Math.abs(value) < 0.00005)) return numeral(value, 4);
  const [digits, power] = Math.abs(value).toExponential(1).split("e-");
  const raised = [...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
  return `${value < 0 ? "−" : ""}${digits} · 10⁻${raised}`;
}

/** The shortest decimal that gives this float32 back. */
function exact(value) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  for (let n = 1; n < 9; n++) {
    const short = Number(value.toPrecision(n));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(9)));
}

/** The ends of a scale in words. */
function limits({ scale, limit, digits }) {
  if (scale === "weight") return ["0", "1"];
  const most = limit < 10 ** -digits ? limit.toExponential(1).replace("-", "−") : numeral(limit, digits);
  return [scale === "signed" ? "−" + most : "0", most];
}

/** What a cell says, as [text, strong?] pieces. */
function wordsOf({ data, hidden, values }, [row, column]) {
  const i = row * data.columns.length + column;
  const value = hidden?.[i] ? data.hatched : Number.isNaN(values[i]) ? NO_NUMBER : readable(values[i]);
  const name = data.value_names?.[row]?.[column] ?? "";
  const fill = { row: data.rows[row], column: data.columns[column], value, name };
  const pieces = data.describe.split(/\{(row|column|value|name)\}/);
  const said = pieces.map((piece, k) => (k % 2 ? [fill[piece], piece === "value"] : [piece, false]));
  if (name && !pieces.includes("name")) said.push([` (${name})`, false]);
  return said;
}

/** Labels that a spreadsheet could take for a formula get an apostrophe; masked cells are empty. */
function asCsv({ data, values, hidden }) {
  const quote = (text) => `"${(/^[=+\-@\t\r]/.test(text) ? "'" + text : text).replaceAll('"', '""')}"`;
  const width = data.columns.length;
  const lines = [["", ...data.columns].map(quote).join(",")];
  data.rows.forEach((label, i) => {
    const numbers = data.columns.map((_, j) => (hidden?.[i * width + j] ? "" : exact(values[i * width + j])));
    lines.push([quote(label), ...numbers].join(","));
  });
  return "\ufeff" + lines.join("\r\n") + "\r\n"; // the mark lets spreadsheets see that it is UTF-8
}
