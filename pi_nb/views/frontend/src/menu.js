/** A menu of a few things to do, as WAI-ARIA has it: arrows, Home, End, a letter, Escape; the keyboard goes back after. */

import { h } from "./dom.js";

/**
 * @typedef {object} Item
 * @property {string} text
 * @property {() => void} act
 * @property {string} [key]   Key that does the same in the tree.
 * @property {string} [why]   Why it cannot be done now.
 * @property {boolean} [begins]  A line stands above it.
 */

const AIR = 6; // px between menu and edge

export class Menu {
  /**
   * @param {HTMLElement} place  The menu opens inside it.
   * @param {() => void} back    Gives the keyboard back.
   */
  constructor(place, back) {
    this.place = place;
    this.back = back;
    /** @type {HTMLElement|null} */ this.root = null;
    this.outside = (/** @type {Event} */ event) => {
      if (this.root && !event.composedPath().includes(this.root)) this.close(false);
    };
  }

  get open() {
    return this.root !== null;
  }

  /**
   * @param {string} name
   * @param {Item[]} items
   * @param {{x: number, y: number, top?: number}} at  In the window; `top` is where what it belongs to begins.
   */
  show(name, items, at) {
    this.close(false);
    const els = items.map((item) => this.#item(item));
    this.root = h("div", { class: "pt-menu", role: "menu", "aria-label": name, tabindex: "-1" },
      ...items.flatMap((item, i) => (item.begins && i ? [h("div", { class: "pt-menuline", role: "separator" }), els[i]] : [els[i]])));
    this.root.addEventListener("keydown", (event) => this.#key(event, els));
    this.place.append(this.root);
    this.#put(this.root, at);
    els[0]?.focus({ preventScroll: true });
    document.addEventListener("pointerdown", this.outside, true);
  }

  /** @param {Item} item */
  #item(item) {
    const el = h("button", { class: "pt-menuitem", type: "button", role: "menuitem", tabindex: "-1", "aria-disabled": item.why ? "true" : null, title: item.why },
      h("span", { text: item.text }), ...(item.key ? [h("kbd", { text: item.key })] : []));
    el.addEventListener("click", () => {
      if (item.why) return;
      this.close();
      item.act();
    });
    return el;
  }

  /**
   * Below the place, or above it, and inside the view.
   * @param {HTMLElement} el
   * @param {{x: number, y: number, top?: number}} at
   */
  #put(el, at) {
    const frame = this.place.getBoundingClientRect();
    const { width, height } = el.getBoundingClientRect();
    const below = at.y - frame.top;
    const above = (at.top ?? at.y) - frame.top - height;
    const top = below + height + AIR <= frame.height || above < AIR ? Math.min(below, frame.height - height - AIR) : above;
    el.style.left = `${Math.max(AIR, Math.min(at.x - frame.left, frame.width - width - AIR))}px`;
    el.style.top = `${Math.max(AIR, top)}px`;
  }

  /**
   * @param {KeyboardEvent} event
   * @param {HTMLElement[]} els
   */
  #key(event, els) {
    event.stopPropagation();
    const at = els.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const to = next(event.key, at, els.map((el) => el.textContent ?? ""));
    if (event.key === "Escape" || event.key === "Tab") this.close();
    else if (to < 0) return;
    else els[to].focus({ preventScroll: true });
    event.preventDefault();
  }

  /** @param {boolean} [back]  Give the keyboard back. */
  close(back = true) {
    if (!this.root) return;
    document.removeEventListener("pointerdown", this.outside, true);
    const { root } = this;
    this.root = null;
    root.remove();
    if (back) this.back();
  }
}

/**
 * @param {string} key
 * @param {number} at
 * @param {string[]} texts
 * @returns {number} -1 to stay.
 */
export function next(key, at, texts) {
  const last = texts.length - 1;
  if (key === "ArrowDown") return at === last ? 0 : at + 1;
  if (key === "ArrowUp") return at <= 0 ? last : at - 1;
  if (key === "Home") return 0;
  if (key === "End") return last;
  if (key.length !== 1 || key === " ") return -1;
  const fits = (/** @type {number} */ i) => texts[i].toLowerCase().startsWith(key.toLowerCase());
  for (let step = 1; step <= texts.length; step++) if (fits((at + step) % texts.length)) return (at + step) % texts.length;
  return -1;
}
