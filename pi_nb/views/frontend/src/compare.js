/** Two contexts side by side: what they share is one line, after it the messages of each, words that differ marked. */

import { related, words } from "./diff.js";
import { h } from "./dom.js";
import { count, grouped, short, wording } from "./wording.js";

/**
 * @typedef {import("./types.js").ContextItem} ContextItem
 *
 * @typedef {object} Side
 * @property {string|null} entry
 * @property {ContextItem[]} items  Messages after the common ones, the first of them.
 * @property {number} total         How many there are after the common ones.
 * @property {number} tokens        Of the whole context.
 *
 * @typedef {object} Comparison
 * @property {number} common
 * @property {number} common_tokens
 * @property {Side} a
 * @property {Side} b
 */

/**
 * @param {Comparison} answer
 * @param {string|null} leaf
 * @returns {HTMLElement[]}
 */
export function compareHead(answer, leaf) {
  const name = (/** @type {Side} */ side) =>
    h("span", { class: `pt-cside` }, h("span", { class: side.entry === leaf ? "pt-tag pt-tag-leaf" : "pt-chip", text: side.entry === leaf ? "leaf" : short(side.entry ?? "start") }),
      h("span", { class: "pt-pfacts", text: side.tokens ? `about ${count(side.tokens)} tokens` : "no tokens" }));
  return [h("div", { class: "pt-columns" }, name(answer.a), name(answer.b))];
}

/**
 * @param {Comparison} answer
 * @param {(id: string|null) => void} look
 * @returns {HTMLElement[]}
 */
export function compareBody(answer, look) {
  const { a, b } = answer;
  const rows = [];
  for (let i = 0; i < Math.max(a.items.length, b.items.length); i++) rows.push(pair(a.items[i], b.items[i], look));
  const more = (/** @type {Side} */ side) => h("p", { class: "pt-gap", text: side.total > side.items.length ? `… and ${grouped(side.total - side.items.length)} more` : "" });
  return [shared(answer), ...rows, h("div", { class: "pt-columns" }, more(a), more(b))];
}

/** @param {Comparison} answer */
function shared({ common, common_tokens, a, b }) {
  const size = common_tokens ? ` (about ${count(common_tokens)} tokens)` : "";
  const what = common === 1 ? "The first message is" : `The first ${grouped(common)} messages are`;
  const equal = a.total === 0 && b.total === 0;
  const text = equal ? "The two contexts are the same." : common === 0 ? "Nothing in common: a provider's prompt cache could not be used." : `${what} the same${size}. Here a provider's prompt cache ends.`;
  return h("p", { class: "pt-shared", text });
}

/**
 * @param {ContextItem|undefined} left
 * @param {ContextItem|undefined} right
 * @param {(id: string|null) => void} look
 */
function pair(left, right, look) {
  const alike = left && right && left.role === right.role;
  const changes = alike ? words(left.text, right.text) : [];
  const pieces = related(changes) ? changes : null;
  const side = (/** @type {ContextItem|undefined} */ item, /** @type {"minus"|"plus"} */ kind) => {
    if (!item) return h("div");
    const told = alike && pieces?.filter(([what]) => what === "same" || what === kind).map(([what, text]) => (what === "same" ? text : h("span", { class: `pt-${kind}`, text })));
    return card(item, told || [item.text], look);
  };
  return h("div", { class: "pt-columns" }, side(left, "minus"), side(right, "plus"));
}

/**
 * @param {ContextItem} item
 * @param {(Node|string)[]} text
 * @param {(id: string|null) => void} look
 */
function card(item, text, look) {
  const said = wording({ id: item.id, parent: null, type: "message", role: item.role, text: item.text, error: item.error });
  const id = h("button", { class: "pt-id", type: "button", title: "Look at this entry", text: short(item.id), onclick: () => look(item.id) });
  const calls = (item.calls ?? []).map((call) => h("code", { class: "pt-call", text: call }));
  return h("article", { class: `pt-card pt-whole pt-t-${said.tone}` },
    h("header", null, h("span", { class: "pt-who", text: said.who }), h("span", { class: "pt-fill" }), id, h("span", { class: "pt-tok", text: count(item.tokens) })),
    ...(item.text ? [h("div", { class: "pt-ctext" }, ...text)] : []), ...calls);
}
