/**
 * Elements. Text is set as text: nothing here, or anywhere in this widget, parses HTML.
 *
 * @typedef {Record<string, string|number|boolean|null|undefined|((event: any) => void)>} Attributes
 */

/**
 * Asks Lumino (JupyterLab, Notebook 7) to leave its shortcuts off. It has to stand on the focused element itself: a
 * selector such as `:focus` is tried before the ancestors are looked at, and `d d` would delete a cell.
 */
const SUPPRESS = "data-lm-suppress-shortcuts";
const TAKES_KEYS = new Set(["button", "input", "textarea", "summary"]);

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes|null} [attributes]  `class`, `text`, `on…` handlers; anything else becomes an attribute.
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes, ...children) {
  const el = document.createElement(tag);
  if (TAKES_KEYS.has(tag) || attributes?.tabindex != null) el.setAttribute(SUPPRESS, "true");
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null || value === false) continue;
    if (typeof value === "function") el.addEventListener(name.slice(2), value);
    else if (name === "text") el.textContent = String(value);
    else if (name === "class") el.className = String(value);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child || child === "") el.append(child);
  return el;
}

/**
 * Set the text only when it differs: an unchanged row costs nothing.
 * @param {HTMLElement} el
 * @param {string} text
 */
export function setText(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

/**
 * @param {Element} el
 * @param {string} name
 * @param {string|null} value  Null removes it.
 */
export function setAttr(el, name, value) {
  if (value === null) el.removeAttribute(name);
  else if (el.getAttribute(name) !== value) el.setAttribute(name, value);
}

/**
 * @param {string} text
 * @param {[number, number][]} found
 * @returns {(Node|string)[]}  The text in pieces, hits inside <mark>.
 */
export function marked(text, found) {
  /** @type {(Node|string)[]} */
  const out = [];
  let at = 0;
  for (const [from, to] of found) {
    if (from > at) out.push(text.slice(at, from));
    out.push(h("mark", { class: "pt-hit", text: text.slice(from, to) }));
    at = to;
  }
  if (at < text.length) out.push(text.slice(at));
  return out;
}

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 */
export function svg(tag, attributes = {}) {
  const el = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
  return el;
}

/**
 * A small line icon.
 * @param {string} d
 */
export function icon(d) {
  const el = svg("svg", { viewBox: "0 0 16 16", class: "pt-icon", "aria-hidden": "true" });
  el.append(svg("path", { d }));
  return el;
}

export const ICONS = {
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14",
  target: "M8 13A5 5 0 1 0 8 3a5 5 0 0 0 0 10ZM8 1v3M8 12v3M1 8h3M12 8h3",
  order: "M4 3v10M4 13l-2-2M4 13l2-2M9 4h5M9 8h4M9 12h3",
  panel: "M2 3h12v10H2zM9.5 3v10",
  close: "M4 4l8 8M12 4l-8 8",
  undo: "M5.5 3 2.5 6l3 3M2.5 6H10a3.5 3.5 0 0 1 0 7H6.5",
  redo: "M10.5 3l3 3-3 3M13.5 6H6a3.5 3.5 0 0 0 0 7h3.5",
  time: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.3 1.5",
  trail: "M13 3.5C3.5 3.5 3 12.5 11.5 12.5M9.5 10.2l2.6 2.3-2.6 2.3",
  eye: "M1.5 8S4 3.7 8 3.7 14.5 8 14.5 8 12 12.3 8 12.3 1.5 8 1.5 8ZM8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Z",
  play: "M5 3.2v9.6L12.5 8Z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  before: "M10 3.5 5.5 8l4.5 4.5",
  after: "M6 3.5 10.5 8 6 12.5",
  copy: "M5.5 5.5V3H13v7.5h-2.5M3 5.5h7.5V13H3z",
  tag: "M8.5 2.5H3V8l5.5 5.5L14 8zM5.6 5.6h.01",
};
