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
 * How contexts differ: all of them from the first.
 * @param {ContextAnswer[]} contexts
 * @param {(id: string) => number} cost  US dollars of an entry.
 * @returns {import("./compare.js").Comparison}
 */
export function comparison(contexts, cost) {
  if (contexts.some((context) => context.items.length < context.total)) throw new Error("These contexts are too long to be compared in this page.");
  const [first] = contexts;
  const shared = contexts.map((context) => sharedBy(first, context));
  const common = Math.min(...shared);
  const sides = contexts.map(({ entry, items, total, tokens }, i) => {
    const own = items.slice(common);
    return { entry, items: own.slice(0, COMPARED), total: total - common, tokens, shared: shared[i], cost: own.reduce((sum, item) => sum + cost(item.id), 0) };
  });
  return { common, common_tokens: first.items.slice(0, common).reduce((sum, item) => sum + (item.tokens ?? 0), 0), sides };
}

/**
 * @param {ContextAnswer} one
 * @param {ContextAnswer} other
 */
function sharedBy(one, other) {
  const differs = one.items.findIndex((item, i) => item.id !== other.items[i]?.id || item.text !== other.items[i]?.text);
  return differs < 0 ? one.total : differs;
}
