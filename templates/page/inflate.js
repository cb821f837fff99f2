// Decompression by the browser if it supports it, else by the code below (RFC 1951, 1952).

/** The bytes encoded in a base64 text. @param {string} text @returns {Uint8Array} */
function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text.replace(/\s+/g, ""));
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** Decompressed gzip data. @param {Uint8Array} bytes @returns {Promise<Uint8Array>} */
async function gunzip(bytes) {
  if (typeof DecompressionStream !== "function") return inflate(bytes);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const LENGTH_BASE = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const LENGTH_EXTRA = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
const DISTANCE_BASE = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
const DISTANCE_EXTRA = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
const LENGTHS_ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/** A Huffman code: the number of codes of each length, and their symbols in order. */
function huffman(lengths) {
  const counts = new Uint16Array(16);
  const starts = new Uint16Array(16);
  const symbols = new Uint16Array(lengths.length);
  for (const length of lengths) counts[length]++;
  counts[0] = 0;
  for (let size = 1; size < 16; size++) starts[size] = starts[size - 1] + counts[size - 1];
  lengths.forEach((length, symbol) => { if (length) symbols[starts[length]++] = symbol; });
  return { counts, symbols };
}

/** Decompress gzip data as written by vnicaudit (no optional fields). */
function inflate(source) {
  const size = new DataView(source.buffer, source.byteOffset).getUint32(source.length - 4, true);
  const target = new Uint8Array(size);
  const state = { source, at: 10, bits: 0, held: 0, target, end: 0 };
  let last = 0;
  while (!last) {
    last = take(state, 1);
    const kind = take(state, 2);
    if (kind === 0) stored(state);
    else if (kind === 1) block(state, fixedLiterals(), huffman(new Uint8Array(30).fill(5)));
    else if (kind === 2) block(state, ...dynamicCodes(state));
    else throw new Error("the data of this page is damaged");
  }
  return target;
}

function take(state, count) {
  while (state.held < count) {
    if (state.at >= state.source.length) throw new Error("the data of this page is cut short");
    state.bits |= state.source[state.at++] << state.held;
    state.held += 8;
  }
  const value = state.bits & ((1 << count) - 1);
  state.bits >>>= count;
  state.held -= count;
  return value;
}

function decoded(state, code) {
  let value = 0, first = 0, index = 0;
  for (let size = 1; size < 16; size++) {
    value |= take(state, 1);
    const count = code.counts[size];
    if (value - count < first) return code.symbols[index + value - first];
    index += count;
    first = (first + count) << 1;
    value <<= 1;
  }
  throw new Error("the data of this page is damaged");
}

function stored(state) {
  state.bits = state.held = 0;
  const length = state.source[state.at] | (state.source[state.at + 1] << 8);
  state.at += 4;
  state.target.set(state.source.subarray(state.at, state.at + length), state.end);
  state.at += length;
  state.end += length;
}

function fixedLiterals() {
  const lengths = new Uint8Array(288).fill(8);
  lengths.fill(9, 144, 256).fill(7, 256, 280);
  return huffman(lengths);
}

function dynamicCodes(state) {
  const literals = take(state, 5) + 257, distances = take(state, 5) + 1, count = take(state, 4) + 4;
  const lengths = new Uint8Array(19);
  for (let at = 0; at < count; at++) lengths[LENGTHS_ORDER[at]] = take(state, 3);
  const code = huffman(lengths);
  const all = new Uint8Array(literals + distances);
  for (let at = 0; at < all.length;) {
    const symbol = decoded(state, code);
    if (symbol < 16) { all[at++] = symbol; continue; }
    const value = symbol === 16 ? all[at - 1] : 0;
    const repeat = symbol === 16 ? 3 + take(state, 2) : symbol === 17 ? 3 + take(state, 3) : 11 + take(state, 7);
    all.fill(value, at, at + repeat);
    at += repeat;
  }
  return [huffman(all.subarray(0, literals)), huffman(all.subarray(literals))];
}

function block(state, literals, distances) {
  for (;;) {
    const symbol = decoded(state, literals);
    if (symbol < 256) { state.target[state.end++] = symbol; continue; }
    if (symbol === 256) return;
    const length = LENGTH_BASE[symbol - 257] + take(state, LENGTH_EXTRA[symbol - 257]);
    const which = decoded(state, distances);
    const distance = DISTANCE_BASE[which] + take(state, DISTANCE_EXTRA[which]);
    for (let left = length; left > 0; left--, state.end++) state.target[state.end] = state.target[state.end - distance];
  }
}
