/** The bar above the rows: name, numbers, search, filters. */

import { h, icon, ICONS, setAttr, setText } from "./dom.js";
import { FILTERS } from "./filter.js";
import { grouped, shortSession } from "./wording.js";

/**
 * @typedef {import("./state.js").ViewState} ViewState
 *
 * @typedef {object} Hooks
 * @property {(query: string) => void} search
 * @property {(step: 1|-1) => void} hit
 * @property {(mode: import("./types.js").FilterMode) => void} filter
 * @property {() => void} order
 * @property {() => void} leaf
 * @property {(way: "undo"|"redo") => void} undo
 * @property {(way: "undo"|"redo") => {able: boolean, title: string}} offer  What undo and redo would do.
 * @property {() => void} time
 * @property {() => void} trail
 * @property {() => void} inspect
 * @property {() => void} panel
 * @property {() => void} back   The search is left.
 */

export class Toolbar {
  /**
   * @param {ViewState} state
   * @param {Hooks} hooks
   */
  constructor(state, hooks) {
    this.state = state;
    this.title = h("strong", { class: "pt-title" });
    this.numbers = h("span", { class: "pt-numbers" });
    this.status = h("span", { class: "pt-status" });
    this.found = h("span", { class: "pt-count", "aria-live": "polite" });
    this.input = h("input", { class: "pt-search", type: "search", placeholder: "Search", "aria-label": "Search the rows", spellcheck: "false", autocomplete: "off" });
    this.input.addEventListener("input", () => hooks.search(this.input.value));
    this.input.addEventListener("keydown", (event) => this.#key(event, hooks));
    this.filters = FILTERS.map(({ mode, name, title }) =>
      h("button", { class: "pt-seg", type: "button", title, "aria-pressed": "false", text: name, "data-mode": mode, onclick: () => hooks.filter(mode) }));
    this.order = button(ICONS.order, "Order: active branch first, or as written (o)", () => hooks.order());
    this.undo = button(ICONS.undo, "Undo (u)", () => hooks.undo("undo"));
    this.redo = button(ICONS.redo, "Redo (U)", () => hooks.undo("redo"));
    this.time = button(ICONS.time, "Time: the tree as it was (t)", () => hooks.time());
    this.trail = button(ICONS.trail, "Moves of the leaf, dotted (m)", () => hooks.trail());
    this.inspect = button(ICONS.eye, "Inspect: every click only looks (i)", () => hooks.inspect());
    this.offer = hooks.offer;
    this.clear = () => ((this.input.value = ""), hooks.search(""));
    this.leaf = button(ICONS.target, "Jump to the leaf (h)", () => hooks.leaf());
    this.panel = button(ICONS.panel, "Side panel: what the model sees", () => hooks.panel());
    const field = h("label", { class: "pt-field" }, this.input, this.found);
    field.prepend(icon(ICONS.search));
    this.root = h("div", { class: "pt-bar", role: "toolbar", "aria-label": "Tree" },
      h("div", { class: "pt-name" }, this.title, this.numbers, this.status),
      field,
      h("div", { class: "pt-segs", role: "group", "aria-label": "Show" }, ...this.filters),
      h("div", { class: "pt-tools" }, this.undo, this.redo, this.time, this.trail, this.inspect, this.order, this.leaf, this.panel));
  }

  /**
   * @param {KeyboardEvent} event
   * @param {Hooks} hooks
   */
  #key(event, hooks) {
    if (event.key === "Enter") hooks.hit(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") this.clear(), hooks.back();
    else if (event.key === "ArrowDown") hooks.back();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * @param {boolean} panelOpen
   * @param {boolean} timeOpen
   */
  show(panelOpen, timeOpen) {
    const { store, filter, order, layout, moment, inspect, trail } = this.state;
    this.#showName();
    const entries = moment?.count ?? store.total;
    const { branches } = layout;
    this.#showNumbers([`${grouped(entries)} ${entries === 1 ? "entry" : "entries"}`, branches > 1 ? `· ${branches} branches` : "", this.#loading()]);
    setText(this.status, store.status === "idle" ? "" : store.status);
    this.status.className = `pt-status pt-s-${store.status}`;
    this.showFound();
    for (const el of this.filters) setAttr(el, "aria-pressed", String(el.dataset.mode === filter));
    setAttr(this.order, "aria-pressed", String(order === "log" || moment !== null));
    setAttr(this.time, "aria-pressed", String(timeOpen));
    setAttr(this.trail, "aria-pressed", String(trail !== "off"));
    setAttr(this.inspect, "aria-pressed", String(inspect));
    this.inspect.hidden = store.status === "read-only"; // nothing but looking there
    this.#offer(this.undo, "undo");
    this.#offer(this.redo, "redo");
    setAttr(this.panel, "aria-pressed", String(panelOpen));
  }

  #showName() {
    const { store, name } = this.state;
    const text = name ?? (store.session ? `session ${shortSession(store.session)}` : "session");
    setText(this.title, text);
    setAttr(this.title, "title", text);
    this.title.style.setProperty("--least", `${Math.min(text.length, 16) / 2}em`); // of a long name so much stays
  }

  /**
   * In pieces, so that one without room is left out as a whole.
   * @param {string[]} pieces
   */
  #showNumbers(pieces) {
    const said = pieces.filter(Boolean);
    const text = said.join(" ");
    if (this.numbers.textContent === text) return;
    this.numbers.replaceChildren(...said.flatMap((piece, i) => [i ? " " : "", h("span", { text: piece })]));
    setAttr(this.numbers, "title", text);
  }

  /** How many entries the search hits, and which of them is looked at. */
  showFound() {
    const { hits, layout, focusRow } = this.state;
    if (!hits) return setText(this.found, "");
    const rows = [...hits].map((node) => layout.row[node]);
    const folded = rows.filter((row) => !(row >= 0)).length;
    const at = rows.includes(focusRow) && focusRow >= 0 ? `${rows.filter((row) => row >= 0 && row <= focusRow).length}/` : "";
    setText(this.found, `${at}${hits.size}${folded ? ` (${folded} folded)` : ""}`);
  }

  /**
   * @param {HTMLElement} el
   * @param {"undo"|"redo"} way
   */
  #offer(el, way) {
    const { able, title } = this.offer(way);
    setAttr(el, "aria-disabled", String(!able));
    for (const name of ["title", "aria-label"]) setAttr(el, name, title);
    el.hidden = this.state.store.status === "read-only";
  }

  #loading() {
    const { have, total } = this.state.store;
    return have < total ? `· loading ${Math.floor((100 * have) / total)} %` : "";
  }
}

/**
 * @param {string} d
 * @param {string} title
 * @param {() => void} onclick
 */
function button(d, title, onclick) {
  const el = h("button", { class: "pt-btn", type: "button", title, "aria-label": title, onclick });
  el.append(icon(d));
  return el;
}
