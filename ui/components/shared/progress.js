// Keeps what was answered right in a cookie: the server reads it when the page is loaded again.

export default function ({ data }) {
  const { cookie, value } = data;
  const year = 365 * 24 * 3600;
  document.cookie = `${cookie}=${value}; max-age=${year}; path=/; samesite=lax`;
}
