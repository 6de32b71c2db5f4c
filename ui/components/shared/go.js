// Opens another page of this app, as its address says: only an address brings a page back exactly as it was.

export default function ({ data }) {
  const there = new URL(`./${data.page}`, location.href);
  there.search = new URLSearchParams(data.state).toString();
  location.assign(there);
}
