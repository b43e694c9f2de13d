/** What a kernel would say, worked out from what a page has. Pure. */

/**
 * @typedef {import("./types.js").ContextItem} ContextItem
 * @typedef {import("./types.js").ContextAnswer} ContextAnswer
 *
 * @typedef {object} Content  A session in a page.
 * @property {import("./types.js").Delta} delta
 * @property {ContextItem[]} items            Messages, once each.
 * @property {Record<string, any>} contexts   By entry; "" is the start. Their items are places in `items`.
 * @property {Record<string, any>} entries    Lines, by entry.
 */

const COMPARED = 40; // messages of each side

/**
 * How two contexts differ.
 * @param {ContextAnswer} a
 * @param {ContextAnswer} b
 */
export function comparison(a, b) {
  if (a.items.length < a.total || b.items.length < b.total) throw new Error("These contexts are too long to be compared in this page.");
  let common = 0;
  while (common < Math.min(a.total, b.total) && same(a.items[common], b.items[common])) common++;
  const side = (/** @type {ContextAnswer} */ { entry, items, total, tokens }) => ({ entry, items: items.slice(common, common + COMPARED), total: total - common, tokens });
  const shared = a.items.slice(0, common).reduce((sum, item) => sum + (item.tokens ?? 0), 0);
  return { common, common_tokens: shared, a: side(a), b: side(b) };
}

/**
 * @param {ContextItem} one
 * @param {ContextItem} other
 */
const same = (one, other) => one.id === other.id && one.text === other.text;
