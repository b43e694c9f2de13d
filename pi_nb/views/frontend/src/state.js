/**
 * What one view of the tree looks at: focus, folds, filter, search, order. Plain values and the layout that follows
 * from them; no DOM.
 */

import { haystack, passes, QUIET, words } from "./filter.js";
import { Layout } from "./layout.js";
import { Past } from "./past.js";
import { ROOT } from "./tree.js";

/**
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./types.js").FilterMode} FilterMode
 * @typedef {import("./types.js").Order} Order
 */

const COMPARED = 16; // entries at most, as the kernel has it

export class ViewState {
  /** @param {Store} store */
  constructor(store) {
    this.store = store;
    /** Second pointer: the entry being looked at. @type {string|null} */ this.focus = null;
    /** The focus goes where the leaf goes. */
    this.follows = true;
    /** @type {Set<string>} */ this.folds = new Set();
    /** @type {string[]} */ this.selected = [];
    /** @type {FilterMode} */ this.filter = "default";
    /** @type {Order} */ this.order = "active";
    /** Every click only looks. */ this.inspect = false;
    /** Recorded moves of the leaf are drawn: none, the last ones, all. @type {"off"|"last"|"all"} */ this.trail = "off";
    this.past = new Past();
    /** What is shown instead of now. @type {import("./past.js").Moment|null} */ this.moment = null;
    /** Folds of now, while the past is shown. @type {Set<string>|null} */ this.kept = null;
    /** @type {string|null} */ this.hoist = null;
    this.query = "";
    /** Node a checkout was asked for and not answered yet; -1. */ this.pending = -1;
    this.maxLanes = 6;
    /** Nodes from the root to the leaf. @type {Set<number>} */ this.active = new Set();
    /** Node whose row carries the leaf's mark: the leaf, or the nearest ancestor that is shown when it is bookkeeping. */
    this.leafRow = -1;
    /** @type {Layout} */ this.layout = new Layout(store.tree);
    /** Nodes a search hits; null when there is no search. @type {Set<number>|null} */ this.hits = null;
    /** What `focusRowNode` found last. @type {{focus: string|null, layout: Layout, node: number}} */
    this.near = { focus: null, layout: this.layout, node: -1 };
    /** @type {WeakMap<object, string>} */ this.texts = new WeakMap();
  }

  /** Of now; a moment has one that is the same up to its limit. */
  get tree() {
    return this.moment?.tree ?? this.store.tree;
  }

  /** The leaf, now or at the moment that is shown. */
  get leaf() {
    return this.moment ? this.moment.leaf : this.store.leaf;
  }

  get labels() {
    return this.moment?.labels ?? this.store.labels;
  }

  get name() {
    return this.moment ? this.moment.name : this.store.name;
  }

  /** Nodes of answers that are being written: there are none in the past. */
  get lives() {
    return this.moment ? [] : this.tree.lives;
  }

  get leafNode() {
    return this.tree.node(this.leaf);
  }

  /**
   * Show the tree as it was when there were so many entries; null: now. The layout is stale then.
   * @param {number|null} count
   */
  setTime(count) {
    const moment = count === null ? null : this.past.at(this.store, count);
    if (moment && !this.moment) (this.kept = this.folds), (this.folds = new Set());
    if (!moment && this.kept) (this.folds = this.kept), (this.kept = null);
    this.moment = moment;
    this.follows = true;
  }

  /** Entries to compare: those selected, or the leaf and the only one; none if nothing is selected. @returns {(string|null)[]} */
  get compared() {
    const known = this.selected.filter((id) => this.tree.node(id) >= 0);
    return known.length === 1 ? [this.leaf, known[0]] : known.slice(0, COMPARED);
  }

  /**
   * Where the branches end that part at a row: of each the entry that was written last.
   * @param {number} node
   */
  tips(node) {
    return this.layout.children(node).filter((child) => this.#spoken(child)).map((child) => this.#tip(child)).sort((a, b) => a - b).slice(0, COMPARED);
  }

  /** @param {number} node */
  #tip(node) {
    for (let next = node; next >= 0; next = this.tree.children(next).findLast((child) => this.#spoken(child)) ?? -1) node = next;
    return node;
  }

  /** @param {number} node */
  #spoken(node) {
    return !this.tree.isLive(node) && (this.tree.first[node] >= 0 || !QUIET.has(this.tree.rows[node].type));
  }

  /** The entry of the log that is looked at: for an answer that is being written, what it answers. */
  get focusEntry() {
    const { tree, focusNode } = this;
    return tree.isLive(focusNode) ? tree.id(tree.parent[focusNode]) : this.focus;
  }

  /** The entry that the moment came with, null before the first; what is looked at otherwise. */
  get newestEntry() {
    return this.moment && this.follows ? (this.store.log.rows[this.moment.count - 1]?.id ?? null) : this.focusEntry;
  }

  get focusNode() {
    return this.tree.node(this.focus);
  }

  /** Node whose row stands for the focus: itself, or its nearest ancestor that has a row. */
  get focusRowNode() {
    const { focus, layout, near } = this;
    if (near.focus !== focus || near.layout !== layout) this.near = { focus, layout, node: layout.nearest(this.focusNode) };
    return this.near.node;
  }

  /** Work out rows and lanes anew. */
  arrange() {
    const { tree, moment } = this;
    this.active = new Set(tree.path(this.leafNode));
    const nodes = (/** @type {Iterable<string>} */ ids) => new Set([...ids].map((id) => tree.node(id)).filter((n) => n >= 0));
    for (const live of this.lives) if (this.active.has(tree.parent[live])) this.active.add(live);
    const options = { folded: nodes(this.folds), active: this.active, order: this.order, maxLanes: this.maxLanes };
    const hoist = Math.max(ROOT, tree.node(this.hoist));
    const visible = (/** @type {number} */ n) => n === hoist || this.shown(n);
    this.layout = moment ? this.#layoutThen(moment, options) : new Layout(tree, { ...options, visible, hoist });
    this.leafRow = this.#leafRow();
    this.find();
    const gone = this.focusNode < 0 || (moment !== null && this.focusNode > moment.limit);
    if (gone) this.follows = true;
    if (this.follows) this.focus = this.leaf;
  }

  /**
   * @param {import("./past.js").Moment} moment
   * @param {import("./layout.js").Options} options
   */
  #layoutThen(moment, options) {
    const { tree, filter } = this;
    const wanted = tree.node(this.hoist);
    const hoist = wanted > ROOT && wanted <= moment.limit ? wanted : ROOT;
    const key = filter === "labelled" ? `${filter} ${[...moment.labels.keys()].join(" ")}` : filter;
    const visible = (/** @type {number} */ n) => n === hoist || n === ROOT || passes(filter, tree.rows[n], moment.labels.has(tree.rows[n].id));
    return this.past.layout(moment, { key, visible, hoist }, options);
  }

  #leafRow() {
    let node = this.leafNode;
    while (node > ROOT && !this.shown(node)) node = this.tree.parent[node];
    return node;
  }

  /** Work out what the query hits; folds do not matter. */
  find() {
    const tokens = words(this.query);
    if (!tokens.length) return void (this.hits = null);
    this.hits = new Set();
    this.tree.rows.forEach((row, node) => {
      const text = this.#text(row);
      if (this.shown(node) && tokens.every((token) => text.includes(token))) this.hits?.add(node);
    });
  }

  /** @param {import("./types.js").Row} row */
  #text(row) {
    const label = this.labels.get(row.id);
    const known = this.texts.get(row);
    const text = known ?? haystack(row);
    if (known === undefined) this.texts.set(row, text);
    return label ? `${text}\n${label.toLowerCase()}` : text;
  }

  /**
   * Whether the filter lets a node through (it may still be folded away).
   * @param {number} node
   */
  shown(node) {
    if (node === ROOT) return true;
    if (this.moment && node > this.moment.limit) return false;
    if (this.tree.isLive(node)) return true;
    const row = this.tree.rows[node];
    if (node === this.leafNode && !this.moment && !QUIET.has(row.type)) return true;
    return passes(this.filter, row, this.labels.has(row.id));
  }

  /**
   * Unfold whatever hides a node.
   * @param {number} node
   * @returns {boolean} True if the layout is stale now.
   */
  reveal(node) {
    let stale = false;
    for (let n = node < 0 ? -1 : this.tree.parent[node]; n >= 0; n = this.tree.parent[n])
      stale = this.folds.delete(this.tree.rows[n].id) || stale;
    return stale;
  }

  /** Unfold what hides hits. @returns {boolean} True if the layout is stale now. */
  revealHits() {
    let stale = false;
    for (const node of this.hits ?? []) if (this.layout.row[node] < 0) stale = this.reveal(node) || stale;
    return stale;
  }

  /** @param {number} node */
  look(node) {
    this.focus = node === this.leafRow ? this.leaf : this.tree.id(node);
    this.follows = this.focus === this.leaf;
  }

  /** Row of the focus, or of its nearest ancestor that has one. */
  get focusRow() {
    const near = this.focusRowNode;
    return near < 0 ? -1 : this.layout.row[near];
  }
}
