// Keeps a text in a cookie: the server reads it when the page is loaded again. An empty text is not kept.

export default function ({ data }) {
  const { cookie, value, days } = data;
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${cookie}=${value}; max-age=${value ? days * 24 * 3600 : 0}; path=/; samesite=lax${secure}`;
}
