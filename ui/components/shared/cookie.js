// Keeps a text in a cookie: the server reads it when the page is loaded again. An empty text is not kept.
//
// All tabs of a browser share its cookies. A text of lists, such as `masking.2.alpha~encoder.4.same`, is put into the
// cookie that is there: only what this tab has added or taken away since it last wrote is changed. A list may begin with
// a number; if two differ, this tab's stays.

const written = new Map(); // by cookie, the lists that this tab wrote last

function lists(text) {
  const items = text.split("~").filter(Boolean).map((list) => list.split("."));
  return new Map(items.map(([name, ...rest]) => [name, rest]));
}

function there(cookie) {
  const pair = document.cookie.split("; ").find((one) => one.startsWith(`${cookie}=`));
  return lists(pair ? pair.slice(cookie.length + 1) : "");
}

const isNumber = (item) => /^\d+$/.test(item);

function merged(cookie, value) {
  const before = written.get(cookie) ?? new Map();
  const now = lists(value);
  const all = there(cookie);
  for (const name of new Set([...before.keys(), ...now.keys()])) {
    const mine = now.get(name) ?? [];
    const gone = (before.get(name) ?? []).filter((item) => !mine.includes(item) && !isNumber(item));
    const kept = (all.get(name) ?? []).filter((item) => !gone.includes(item));
    all.set(name, [...new Set([...mine, ...kept])].filter((item, n) => !n || !isNumber(item)));
  }
  written.set(cookie, now);
  return [...all].filter(([, items]) => !items.every(isNumber)).map((list) => list.flat().join(".")).join("~");
}

export default function ({ data }) {
  const { cookie, value, days, ofLists } = data;
  const text = ofLists ? merged(cookie, value) : value;
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${cookie}=${text}; max-age=${text ? days * 24 * 3600 : 0}; path=/; samesite=lax${secure}`;
}
