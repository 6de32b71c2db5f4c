// Unpacking at once: the browser's own DecompressionStream answers only after all else that waits for the page's thread.

const EXTRA_OF_LENGTH = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const EXTRA_OF_DISTANCE = [0, 0, 0, 0, ...Array.from({ length: 26 }, (_, n) => (n >> 1) + 1)];
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]; // in which lengths of codes are told

/** Where each of some ranges begins, one behind the other, as wide as its extra bits say. */
function startsOf(extra, first) {
  let next = first;
  return extra.map((bits) => (next += 1 << bits) - (1 << bits));
}
const LENGTHS = startsOf(EXTRA_OF_LENGTH, 3);
LENGTHS[28] = 258;
const DISTANCES = startsOf(EXTRA_OF_DISTANCE, 1);

/** A Huffman code from the length of each symbol's word, to be looked up by the next `most` bits: symbol << 4 | length. */
function codeOf(lengths) {
  const most = Math.max(1, ...lengths);
  const found = new Uint16Array(1 << most);
  for (let length = 1, word = 0; length <= most; length++, word <<= 1)
    lengths.forEach((one, symbol) => {
      if (one !== length) return;
      let start = 0; // words are told from their first bit, all else from the last
      for (let bit = 0; bit < length; bit++) start |= ((word >> bit) & 1) << (length - 1 - bit);
      for (; start < found.length; start += 1 << length) found[start] = (symbol << 4) | length;
      word++;
    });
  return { found, mask: found.length - 1, most };
}

/** `size` bytes from what zlib packed (RFC 1950 and 1951). */
function inflated(packed, size) {
  const out = new Uint8Array(size);
  let at = 0;
  let next = 2; // behind zlib's own two bytes
  let held = 0;
  let nHeld = 0;
  const bits = (n) => {
    for (; nHeld < n; nHeld += 8) held |= packed[next++] << nHeld;
    const value = held & ((1 << n) - 1);
    held >>>= n;
    nHeld -= n;
    return value;
  };
  const symbolOf = ({ found, mask, most }) => {
    for (; nHeld < most; nHeld += 8) held |= packed[next++] << nHeld;
    const entry = found[held & mask];
    held >>>= entry & 15;
    nHeld -= entry & 15;
    return entry >> 4;
  };
  const told = () => {
    const [nWords, nDistances, nTold] = [bits(5) + 257, bits(5) + 1, bits(4) + 4];
    const own = Array(19).fill(0);
    for (let n = 0; n < nTold; n++) own[ORDER[n]] = bits(3);
    const [code, lengths] = [codeOf(own), []];
    while (lengths.length < nWords + nDistances) {
      const symbol = symbolOf(code);
      if (symbol < 16) lengths.push(symbol);
      else {
        const times = symbol === 16 ? 3 + bits(2) : symbol === 17 ? 3 + bits(3) : 11 + bits(7);
        lengths.push(...Array(times).fill(symbol === 16 ? lengths.at(-1) : 0));
      }
    }
    return [codeOf(lengths.slice(0, nWords)), codeOf(lengths.slice(nWords))];
  };
  const fixed = () => [codeOf(Array.from({ length: 288 }, (_, n) => (n < 144 ? 8 : n < 256 ? 9 : n < 280 ? 7 : 8))), codeOf(Array(30).fill(5))];
  for (let isLast = false; !isLast; ) {
    isLast = bits(1) === 1;
    const kind = bits(2);
    if (kind === 0) {
      next -= nHeld >> 3; // a block as it is begins with the next byte
      held = nHeld = 0;
      const length = packed[next] | (packed[next + 1] << 8);
      out.set(packed.subarray(next + 4, next + 4 + length), at);
      next += 4 + length;
      at += length;
      continue;
    }
    const [words, distances] = kind === 1 ? fixed() : told();
    for (let symbol; (symbol = symbolOf(words)) !== 256; ) {
      if (symbol < 256) {
        out[at++] = symbol;
        continue;
      }
      const length = LENGTHS[symbol - 257] + bits(EXTRA_OF_LENGTH[symbol - 257]);
      const far = symbolOf(distances);
      const distance = DISTANCES[far] + bits(EXTRA_OF_DISTANCE[far]);
      for (const end = at + length; at < end; at++) out[at] = out[at - distance];
    }
  }
  return out;
}
