/** Which words of two texts differ. Pure. */

/** @typedef {["same"|"minus"|"plus", string]} Piece */

const MOST = 600; // words of each text that are compared; beyond that everything after the common start counts as changed

/** @param {string} text */
const split = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

/**
 * The pieces of both texts in order: what both have, what only the first has, what only the second has.
 * @param {string} left
 * @param {string} right
 * @returns {Piece[]}
 */
export function words(left, right) {
  const a = split(left);
  const b = split(right);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const middle = align(a.slice(start, a.length - end), b.slice(start, b.length - end));
  return joined([...a.slice(0, start).map(same), ...middle, ...a.slice(a.length - end).map(same)]);
}

/**
 * Whether enough of the shorter text is in both for the differences to say something.
 * @param {Piece[]} pieces
 */
export function related(pieces) {
  const letters = (/** @type {string} */ kind) => pieces.reduce((sum, [what, text]) => sum + (what === kind ? text.replace(/[^\p{L}\p{N}]/gu, "").length : 0), 0);
  return letters("same") >= 0.4 * (letters("same") + Math.min(letters("minus"), letters("plus")));
}

/** @param {string} word @returns {Piece} */
const same = (word) => ["same", word];

/**
 * @param {string[]} a
 * @param {string[]} b
 * @returns {Piece[]}
 */
function align(a, b) {
  /** @type {Piece[]} */
  const out = [];
  const minus = (/** @type {string} */ word) => void out.push(["minus", word]);
  const plus = (/** @type {string} */ word) => void out.push(["plus", word]);
  let [i, j] = [0, 0];
  if (a.length <= MOST && b.length <= MOST) {
    const best = table(a, b);
    const wide = b.length + 1;
    while (i < a.length && j < b.length) {
      if (a[i] === b[j]) out.push(same(a[i])), i++, j++;
      else if (best[(i + 1) * wide + j] >= best[i * wide + j + 1]) minus(a[i++]);
      else plus(b[j++]);
    }
  }
  a.slice(i).forEach(minus);
  b.slice(j).forEach(plus);
  return out;
}

/**
 * Length of the longest common subsequence of what follows, for each pair of places.
 * @param {string[]} a
 * @param {string[]} b
 */
function table(a, b) {
  const wide = b.length + 1;
  const best = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * wide + j] = a[i] === b[j] ? best[(i + 1) * wide + j + 1] + 1 : Math.max(best[(i + 1) * wide + j], best[i * wide + j + 1]);
  return best;
}

/**
 * @param {Piece[]} pieces
 * @returns {Piece[]}
 */
function joined(pieces) {
  /** @type {Piece[]} */
  const out = [];
  for (const [kind, text] of pieces) {
    const last = out.at(-1);
    if (last?.[0] === kind) last[1] += text;
    else out.push([kind, text]);
  }
  return out;
}
