/**
 * The rows in view. Only these exist as elements; each belongs to a node and is kept while the node stays in view,
 * so that rows can glide when the order changes. Lines are one SVG, a path per colour.
 */

import { h, setAttr, svg } from "./dom.js";
import { ACTIVE, lanePaths, laneX } from "./lanes.js";
import { fillRow, makeRow } from "./row.js";

/**
 * @typedef {import("./state.js").ViewState} ViewState
 * @typedef {import("./lanes.js").Metrics} Metrics
 * @typedef {import("./row.js").RowElement} RowElement
 */

const OVERSCAN = 10; // rows
const PADDING = 12; // px above and below the rows together, as in style.css
const GLIDE = 240; // ms, as in style.css

export class RowList {
  /**
   * @param {ViewState} state
   * @param {string} uid  Prefix of element ids, unlike any other view's.
   */
  constructor(state, uid) {
    this.state = state;
    this.uid = uid;
    /** @type {Metrics} */ this.metrics = { row: 28, lane: 16, inset: 10, max: 14, trail: 0 };
    /** The trail of the leaf beside the rows. @type {import("./tracks.js").Tracks|null} */ this.tracks = null;
    this.lines = svg("svg", { class: "pt-lanes", "aria-hidden": "true" });
    this.space = h("div", { class: "pt-space", role: "presentation" });
    this.space.append(this.lines);
    this.scroller = h("div", { class: "pt-rows", role: "tree", tabindex: "0", "aria-label": "Session tree" }, this.space);
    /** @type {Map<number, RowElement>} */ this.shown = new Map();
    /** @type {RowElement[]} */ this.spare = [];
    /** @type {Map<string, SVGElement>} */ this.paths = new Map();
    this.start = 0;
    this.end = -1;
    this.glide = 0;
    // Kept here, because asking the element makes the browser lay out the page there and then.
    /** Height of the part in view, px; before it is known a plausible one. */ this.height = 460;
    /** Scroll position, px. */ this.top = 0;
  }

  /**
   * The part in view has another size, or is there at last; a row that was in it stays in it.
   * @param {number} height  px
   * @param {number} row
   * @param {boolean} wanted  The row is to be in view, wherever it was.
   */
  resized(height, row, wanted) {
    const seen = wanted || this.#sees(row);
    if (height) this.height = height;
    if (seen) {
      this.#scrollTo(this.top); // an element that was hidden, or elsewhere, has forgotten it
      this.reveal(row);
    }
    this.scrolled();
  }

  /** @param {number} row */
  #sees(row) {
    const top = this.offset(row);
    return row >= 0 && top > -this.metrics.row && top < this.height;
  }

  /** The scroll position changed: add and drop rows, leave the others alone. */
  scrolled() {
    this.top = this.scroller.scrollTop;
    const [start, end] = this.#window();
    if (start !== this.start || end !== this.end) this.draw(false);
  }

  #window() {
    const { row } = this.metrics;
    const start = Math.max(0, Math.floor(this.top / row) - OVERSCAN);
    const end = Math.min(this.state.layout.count - 1, Math.ceil((this.top + this.height) / row) + OVERSCAN);
    return [start, end];
  }

  /**
   * Draw the rows in view.
   * @param {boolean} [all]  Also those already there: something about them changed.
   */
  draw(all = true) {
    const { layout } = this.state;
    this.#fit();
    this.scroller.classList.toggle("pt-seeking", this.state.hits !== null);
    const [start, end] = this.#window();
    this.start = start;
    this.end = end;
    this.#drop(start, end);
    for (let row = start; row <= end; row++) this.#place(layout.nodes[row], row, all);
    this.#drawLines(start, end);
    this.tracks?.draw(start, end, this.metrics);
    this.#point();
  }

  /** Make room for every row, so that the scroll bar is right and any row can be scrolled to. */
  #fit() {
    const height = `${this.state.layout.count * this.metrics.row}px`;
    if (this.space.style.height !== height) this.space.style.height = height;
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  #drop(start, end) {
    for (const [node, el] of this.shown) {
      const row = this.state.layout.row[node];
      if (row >= start && row <= end) continue;
      this.shown.delete(node);
      el.root.remove();
      this.spare.push(el);
    }
  }

  /**
   * @param {number} node
   * @param {number} row
   * @param {boolean} all
   */
  #place(node, row, all) {
    const known = this.shown.get(node);
    const el = known ?? this.spare.pop() ?? makeRow();
    if (!known || all) {
      fillRow(el, this.state, node, this.metrics);
      setAttr(el.root, "id", `${this.uid}-${node}`);
      const move = `translateY(${row * this.metrics.row}px)`;
      if (el.root.style.transform !== move) el.root.style.transform = move;
    }
    if (known) return;
    this.shown.set(node, el);
    this.space.append(el.root);
  }

  /**
   * @param {number} start
   * @param {number} end
   */
  #drawLines(start, end) {
    const { metrics } = this;
    const found = lanePaths(this.state.layout, start, end, metrics);
    this.lines.style.transform = `translateY(${start * metrics.row}px)`;
    setAttr(this.lines, "width", String(laneX(metrics, metrics.max) + metrics.lane));
    setAttr(this.lines, "height", String((end - start + 1) * metrics.row));
    for (const [key, path] of this.paths) if (!found.has(key)) path.remove(), this.paths.delete(key);
    for (const [key, d] of found) setAttr(this.#path(key), "d", d);
  }

  /** @param {string} key */
  #path(key) {
    const known = this.paths.get(key);
    if (known) return known;
    const [hue, dots] = key.split(":");
    const active = hue === String(ACTIVE);
    const path = /** @type {SVGElement} */ (svg("path", { class: `pt-line pt-h${active ? "a" : hue}${dots ? " pt-dots" : ""}` }));
    if (active) this.lines.append(path);
    else this.lines.prepend(path); // the active path lies on top
    this.paths.set(key, path);
    return path;
  }

  /** Tell assistive technology which row the focus is on. */
  #point() {
    const { layout, focusRow } = this.state;
    const el = focusRow < 0 ? undefined : this.shown.get(layout.nodes[focusRow]);
    setAttr(this.scroller, "aria-activedescendant", el ? el.root.id : null);
  }

  /**
   * Only this row's content changed (a growing answer).
   * @param {number} node
   */
  refresh(node) {
    const el = this.shown.get(node);
    if (el) fillRow(el, this.state, node, this.metrics);
  }

  /** The order changed under the reader: let rows glide to their new places. */
  startGlide() {
    clearTimeout(this.glide);
    this.scroller.classList.add("pt-glide");
    this.glide = window.setTimeout(() => this.scroller.classList.remove("pt-glide"), GLIDE);
  }

  /**
   * Scroll as little as needed to have a row in view with a little air around it. To be followed by a draw.
   * @param {number} row
   */
  reveal(row) {
    if (row < 0) return;
    const { row: size } = this.metrics;
    const air = Math.min(size * 2, Math.max(0, (this.height - size) / 2));
    const top = row * size;
    if (top - air < this.top) this.#scrollTo(top - air);
    else if (top + size + air > this.top + this.height) this.#scrollTo(top + size + air - this.height);
  }

  /** @param {number} top */
  #scrollTo(top) {
    this.#fit();
    const most = this.state.layout.count * this.metrics.row + PADDING - this.height;
    this.top = Math.max(0, Math.min(top, most));
    this.scroller.scrollTop = this.top;
  }

  /** Where a row is on the screen, in px below the top of the view. @param {number} row */
  offset(row) {
    return row * this.metrics.row - this.top;
  }

  /**
   * Put a row where another was, so that what was clicked stays under the pointer.
   * @param {number} row
   * @param {number} offset
   */
  keep(row, offset) {
    if (row >= 0) this.#scrollTo(row * this.metrics.row - offset);
  }

  /**
   * The node of the row an event happened in; -1 if none.
   * @param {Event} event
   */
  nodeAt(event) {
    const el = event.target instanceof Element ? event.target.closest(".pt-row") : null;
    return el ? Number(el.id.slice(this.uid.length + 1)) : -1;
  }

  close() {
    clearTimeout(this.glide);
    this.shown.clear();
    this.spare.length = 0;
  }
}
