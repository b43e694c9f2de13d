/** JSON as coloured text: spans whose text is set, nothing parsed as HTML. */

import { h } from "./dom.js";

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const COLOURED = 40_000; // characters; a longer text is shown plain, because spans cost time

/** @param {string} raw  One line of the log. */
export function json(raw) {
  const text = pretty(raw);
  if (text.length > COLOURED) return h("pre", { class: "pt-json", text });
  return h("pre", { class: "pt-json" }, ...pieces(text).map(([kind, part]) => (kind ? h("span", { class: `pt-j${kind}`, text: part }) : part)));
}

/** @param {string} raw */
function pretty(raw) {
  try {
    return JSON.stringify(JSON.parse(raw), null, 2);
  } catch {
    return raw; // cut short, or nested too deeply to be laid out
  }
}

/**
 * @param {string} text
 * @returns {[""|"key"|"str"|"lit", string][]}
 */
export function pieces(text) {
  /** @type {[""|"key"|"str"|"lit", string][]} */
  const out = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) out.push(["", text.slice(at, match.index)]);
    const [whole, string, colon] = match;
    if (string === undefined) out.push(["lit", whole]);
    else out.push([colon === undefined ? "str" : "key", string]);
    if (colon) out.push(["", colon]);
    at = match.index + whole.length;
  }
  if (at < text.length) out.push(["", text.slice(at)]);
  return out;
}
