/** One view: toolbar, rows, panel and notice around one state; every event becomes one method here. */

import { h } from "./dom.js";
import { Desk } from "./desk.js";
import { click, press } from "./hands.js";
import { Leaf, RUNNING, WRITING } from "./leaf.js";
import { Lens } from "./lens.js";
import { HELP } from "./moves.js";
import { Notice } from "./notice.js";
import { Panel } from "./panel.js";
import { RowList } from "./rows.js";
import { ViewState } from "./state.js";
import { hideStill } from "./still.js";
import { followTheme } from "./theme.js";
import { Time } from "./time.js";
import { Toolbar } from "./toolbar.js";
import { Tracks } from "./tracks.js";
import { ROOT } from "./tree.js";
import { Undoing } from "./undoing.js";
import { short } from "./wording.js";

/**
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./store.js").Change} Change
 */

const MOST = 460; // px of rows before they scroll
const LEAST = 320;
const EDITING = 380; // px at least while a prompt is edited in the panel
const SLIM = 340; // px of rows at most when the panel is below them
const NARROW = 640; // px of width below which the panel goes under the rows
const HINT = "Leaf: where the next prompt continues; the model sees the blue path down to it. Click a row to move it there, a prompt to go before it and edit its text. ? lists the keys.";
const LOOK = "Leaf: where a next prompt would continue; the model sees the blue path down to it. Click a row to see what it would see there. ? lists the keys.";
const HURRIED = 300; // ms between two looks of the panel while time is gone through
let views = 0;

export class View {
  /**
   * @param {Store} store
   * @param {HTMLElement} el
   */
  constructor(store, el) {
    this.store = store;
    this.uid = `pt${++views}`;
    this.state = new ViewState(store);
    this.list = new RowList(this.state, this.uid);
    this.notice = new Notice((id) => this.showEntry(id));
    this.tracks = new Tracks(this.state, () => this.lens.allTracks());
    this.list.tracks = this.tracks;
    this.list.space.append(this.tracks.svg);
    this.panel = new Panel(this.state, { look: (id) => this.lookAt(id), say: (text) => this.notice.say(text), grown: () => this.#size(), leave: () => this.leaveCompare() }, this.uid);
    this.bar = new Toolbar(this.state, {
      search: (query) => this.lens.search(query),
      hit: (step) => this.lens.hit(step),
      filter: (mode) => this.lens.setFilter(mode),
      order: () => this.lens.toggleOrder(),
      undo: (way) => this.undoing.ask(way),
      offer: (way) => this.undoing.offer(way),
      time: () => this.time.toggle(),
      trail: () => this.lens.toggleTrail(),
      inspect: () => this.lens.toggleInspect(),
      leaf: () => this.toLeaf(),
      panel: () => this.lens.togglePanel(),
      back: () => this.list.scroller.focus(),
    });
    this.leaf = new Leaf(this);
    this.undoing = new Undoing(this);
    this.time = new Time(this);
    this.lens = new Lens(this);
    this.desk = new Desk(this);
    this.help = helpCard();
    this.open = true;
    /** Layout is stale / rows are. */ this.stale = { layout: true, rows: true, panel: true };
    this.frame = 0;
    this.later = 0;
    this.calm = 0; // until the panel keeps up with the rows again
    this.cost = 0; // ms the last layout took
    this.arranged = 0; // when
    this.told = 0;
    /** px that were there for it last; 0 while it is hidden. */ this.width = 0;
    this.page = new AbortController();
    /** @type {(() => void)|null} */ this.showStill = null;
    this.body = h("div", { class: "pt-body" }, this.list.scroller, this.panel.root);
    this.root = h("div", { class: "pi-tree", "data-lm-suppress-shortcuts": "true", "data-size": "wide" },
      this.bar.root, this.time.strip.root, this.tracks.legend, this.body, this.desk.root, this.notice.root, this.help);
    this.#wire();
    el.append(this.root);
    this.theme = followTheme(this.root);
    this.arrange();
    this.draw();
    this.desk.show();
    this.notice.setLink(store.link);
    this.notice.say(store.status === "read-only" ? LOOK : HINT);
    this.#heard();
  }

  #wire() {
    const { signal } = this.page;
    const { scroller } = this.list;
    scroller.addEventListener("scroll", () => this.list.scrolled(), { passive: true, signal });
    scroller.addEventListener("click", (event) => click(this, event), { signal });
    scroller.addEventListener("keydown", (event) => press(this, event), { signal });
    this.root.addEventListener("keydown", (event) => event.stopPropagation(), { signal }); // the notebook has keys of its own
    this.off = this.store.subscribe((change) => this.#changed(change));
    this.sizes = new ResizeObserver(() => this.#resized());
    this.sizes.observe(this.root);
    this.sizes.observe(scroller);
    this.sizes.observe(this.panel.body);
  }

  close() {
    this.off?.();
    this.sizes?.disconnect();
    this.theme.stop();
    this.page.abort();
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.later);
    clearTimeout(this.calm);
    clearTimeout(this.told);
    this.time.pause();
    this.list.close();
    this.panel.close();
    this.desk.close();
    this.showStill?.();
    this.root.remove();
  }

  // ------------------------------------------------------------ drawing

  /** There is something to show: now the still picture beside us may go. */
  #heard() {
    if (!this.store.epoch || this.showStill) return;
    this.root.dataset.heard = "true";
    this.showStill = hideStill(this.store.model.get("key"));
  }

  /** @param {Change} change */
  #changed(change) {
    this.#heard();
    if (change !== "live") this.desk.show();
    if (change === "agent") return;
    if (change === "link") return this.#linked();
    if (change === "focus") return this.lookAt(this.store.wanted);
    if (change === "rows") this.notice.grown(this.store.have, this.store.leaf);
    if (change === "live") return this.#growing();
    if (change === "reset") this.panel.known.clear(), this.time.reset();
    if (change === "status") this.#status();
    this.refresh({ layout: change !== "status" });
  }

  #status() {
    this.panel.key = "";
    if (this.store.status !== "running") this.notice.forget(RUNNING, WRITING);
  }

  #linked() {
    this.notice.setLink(this.store.link);
    if (this.store.link === "ok") this.panel.forgive();
  }

  #growing() {
    for (const live of this.state.lives) this.list.refresh(live);
    this.panel.showLive();
  }

  /**
   * Draw at the next frame.
   * @param {{layout?: boolean}} [what]
   */
  refresh({ layout = false } = {}) {
    this.stale.layout ||= layout;
    this.stale.rows = true;
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => this.#tick());
  }

  #tick() {
    this.frame = 0;
    // A layout of 100,000 entries takes its time: let it have at most a quarter of ours.
    if (this.stale.layout && this.cost > 12 && performance.now() - this.arranged < 3 * this.cost && !this.leaf.anchor && !this.state.moment)
      return void (this.frame = requestAnimationFrame(() => this.#tick()));
    if (this.stale.layout) this.arrange();
    this.draw();
  }

  /** Lay out anew; the reader's place stays what it was. */
  arrange() {
    const { state, list } = this;
    const atLeaf = state.follows;
    const before = performance.now();
    const was = state.leafRow;
    const shape = state.layout;
    this.#measure();
    state.arrange();
    this.stale.layout = false;
    this.arranged = performance.now();
    this.cost = this.arranged - before;
    this.#size();
    const { anchor } = this.leaf;
    if (anchor && anchor.id === this.store.leaf) {
      list.startGlide();
      list.keep(state.layout.row[state.leafRow] ?? -1, anchor.offset);
      this.leaf.anchor = null;
      this.shouldReveal = true;
    } else if (atLeaf && (was !== state.leafRow || shape.count !== state.layout.count)) this.shouldReveal = true;
  }

  draw() {
    const { state, list } = this;
    if (this.shouldReveal) list.reveal(this.#home);
    this.shouldReveal = false;
    list.draw();
    this.bar.show(this.open, this.time.open);
    this.time.show();
    this.tracks.show();
    this.desk.composer.show();
    this.root.classList.toggle("pt-past", state.moment !== null);
    this.root.classList.toggle("pt-inspect", state.inspect);
    this.stale.rows = false;
    if (this.time.hurried) return void (this.calm ||= window.setTimeout(() => this.#showPanel(), HURRIED));
    cancelAnimationFrame(this.later);
    this.later = requestAnimationFrame(() => this.#showPanel()); // rows first
  }

  /** The row to have in view: of the answer that grows at the leaf, or of the leaf; of the focus when it is elsewhere. */
  get #home() {
    const { state } = this;
    return state.follows ? (state.layout.row[state.lives[0] ?? state.leafRow] ?? -1) : state.focusRow;
  }

  #showPanel() {
    clearTimeout(this.calm);
    this.calm = 0;
    if (!this.open) return;
    this.panel.show();
    this.panel.showLive();
  }

  /** Room for all rows up to a limit; it only grows, so that nothing below jumps. */
  #size() {
    const least = this.panel.edit.hidden ? LEAST : EDITING;
    const wanted = Math.min(MOST, Math.max(least, this.state.layout.count * this.list.metrics.row + 12));
    if (wanted <= (this.height ?? 0)) return;
    this.height = wanted;
    this.root.style.setProperty("--rows", `${wanted}px`);
    this.list.height = this.list.metrics.lane < 16 ? Math.min(wanted, SLIM) : wanted; // as style.css will have it
  }

  #resized() {
    const width = this.root.clientWidth;
    const fresh = !this.width;
    this.width = width;
    if (!width) return; // hidden: nothing can be measured
    this.theme.look();
    const size = width < 460 ? "slim" : width < NARROW ? "narrow" : width < 980 ? "medium" : "wide";
    const changed = this.root.dataset.size !== size;
    this.root.dataset.size = size;
    this.#measure();
    if (changed) (this.shouldReveal = true), this.refresh({ layout: true });
    this.list.resized(this.list.scroller.clientHeight, this.#home, fresh || changed);
    this.panel.resized();
    this.desk.resized(size, width);
  }

  #measure() {
    const slim = this.root.dataset.size === "slim" || this.root.dataset.size === "narrow";
    const trail = this.tracks.room(slim);
    this.list.metrics = { row: 28, lane: slim ? 12 : 16, inset: (slim ? 4 : 10) + trail, max: slim ? 6 : 12, trail };
    this.state.maxLanes = slim ? 3 : 6;
  }

  // ------------------------------------------------------------ focus

  /** @param {number} node */
  look(node) {
    if (node < 0) return;
    this.state.look(node);
    this.list.reveal(this.state.focusRow);
    this.list.draw();
    this.bar.showFound();
    if (this.open) this.panel.show();
    this.#tellFocus();
  }

  /** @param {string|null} id */
  lookAt(id) {
    const node = this.state.tree.node(id);
    if (node < 0) return this.notice.say(`${short(id ?? "")} is not in this view.`);
    if (this.state.reveal(node)) this.arrange();
    this.look(node);
  }

  /**
   * Show an entry as it is in the log, also one that has no row.
   * @param {string} id
   */
  showEntry(id) {
    this.lookAt(id);
    if (!this.open) this.lens.togglePanel();
    this.panel.choose("entry");
  }

  toLeaf() {
    const { state } = this;
    if (state.reveal(state.leafNode)) this.arrange();
    this.look(Math.max(ROOT, state.leafNode));
  }

  #tellFocus() {
    clearTimeout(this.told);
    this.told = window.setTimeout(() => this.store.tell("focus", { entry: this.state.focusEntry, selected: this.state.selected }), 30);
  }

  /** @param {number} node */
  select(node) {
    const { state } = this;
    const id = state.tree.id(node);
    if (!id) return;
    this.#choose(state.selected.includes(id) ? state.selected.filter((other) => other !== id) : [...state.selected, id]);
  }

  /**
   * Put all branches of the nearest branch point at or above a node side by side.
   * @param {number} node
   */
  compareBranches(node) {
    const { state } = this;
    for (let n = node; n >= 0; n = state.layout.parent[n]) {
      const tips = state.tips(n);
      if (tips.length > 1) return this.#choose(tips.map((tip) => state.tree.rows[tip].id));
    }
    this.notice.say("Nothing branches off at or above this entry.");
  }

  leaveCompare() {
    this.#choose([]);
    this.panel.choose("context");
    this.list.scroller.focus({ preventScroll: true });
  }

  /** @param {string[]} ids */
  #choose(ids) {
    this.state.selected = ids;
    this.list.draw();
    this.#tellFocus();
    if (this.open) this.panel.choose(ids.length ? "compare" : "context");
  }
}

function helpCard() {
  const rows = HELP.map(([keys, what]) => h("div", null, h("kbd", { text: keys }), h("span", { text: what })));
  return h("div", { class: "pt-help", hidden: true, role: "note" }, h("strong", { text: "Keys" }), ...rows);
}
