/** One view: toolbar, rows, panel and notice around one state; every event becomes one method here. */

import { h } from "./dom.js";
import { LabelEditor } from "./label.js";
import { actionOf, HELP, target } from "./moves.js";
import { Notice } from "./notice.js";
import { Panel } from "./panel.js";
import { RowList } from "./rows.js";
import { ViewState } from "./state.js";
import { followTheme } from "./theme.js";
import { Toolbar } from "./toolbar.js";
import { ROOT } from "./tree.js";
import { quote, short } from "./wording.js";

/**
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./store.js").Change} Change
 * @typedef {import("./moves.js").Action} Action
 */

const MOST = 460; // px of rows before they scroll
const LEAST = 232;
const NARROW = 640; // px of width below which the panel goes under the rows
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
    this.notice = new Notice();
    this.panel = new Panel(this.state, { look: (id) => this.lookAt(id), say: (text) => this.notice.say(text) }, this.uid);
    this.bar = new Toolbar(this.state, {
      search: (query) => this.search(query),
      hit: (step) => this.hit(step),
      filter: (mode) => this.setFilter(mode),
      order: () => this.toggleOrder(),
      leaf: () => this.toLeaf(),
      panel: () => this.togglePanel(),
      back: () => this.list.scroller.focus(),
    });
    this.label = new LabelEditor(this.list, (node, text) => this.setLabel(node, text));
    this.help = helpCard();
    this.open = true;
    /** Leaves before each checkout made here, newest last. @type {(string|null)[]} */ this.trail = [];
    /** Where the clicked row was when a checkout was asked for. @type {{id: string|null, offset: number}|null} */ this.anchor = null;
    /** Layout is stale / rows are. */ this.stale = { layout: true, rows: true, panel: true };
    this.frame = 0;
    this.cost = 0; // ms the last layout took
    this.arranged = 0; // when
    this.told = 0;
    this.page = new AbortController();
    this.body = h("div", { class: "pt-body" }, this.list.scroller, this.panel.root);
    this.root = h("div", { class: "pi-tree", "data-lm-suppress-shortcuts": "true", "data-size": "wide" },
      this.bar.root, this.body, this.notice.root, this.help);
    this.#wire();
    el.append(this.root);
    this.unfollow = followTheme(this.root);
    this.#arrange();
    this.#draw();
    this.notice.setLink(store.link);
  }

  #wire() {
    const { signal } = this.page;
    const { scroller } = this.list;
    scroller.addEventListener("scroll", () => this.list.scrolled(), { passive: true, signal });
    scroller.addEventListener("click", (event) => this.#click(event), { signal });
    scroller.addEventListener("keydown", (event) => this.#key(event), { signal });
    this.root.addEventListener("keydown", (event) => event.stopPropagation(), { signal }); // the notebook has keys of its own
    this.off = this.store.subscribe((change) => this.#changed(change));
    this.sizes = new ResizeObserver(() => this.#resized());
    this.sizes.observe(this.root);
  }

  close() {
    this.off?.();
    this.sizes?.disconnect();
    this.unfollow();
    this.page.abort();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.told);
    this.list.close();
    this.panel.close();
    this.root.remove();
  }

  // ------------------------------------------------------------ drawing

  /** @param {Change} change */
  #changed(change) {
    if (change === "link") return this.notice.setLink(this.store.link);
    if (change === "focus") return this.lookAt(this.store.wanted);
    if (change === "live") return this.#growing();
    if (change === "reset") this.panel.known.clear();
    if (change === "status") this.panel.key = "";
    this.refresh({ layout: change !== "status" });
  }

  #growing() {
    const { live } = this.state.tree;
    if (live >= 0) this.list.refresh(live);
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
    // A layout of 100,000 entries takes its time: let it have at most an eighth of ours.
    if (this.stale.layout && this.cost > 12 && performance.now() - this.arranged < 8 * this.cost && !this.anchor)
      return void (this.frame = requestAnimationFrame(() => this.#tick()));
    if (this.stale.layout) this.#arrange();
    this.#draw();
  }

  /** Lay out anew; the reader's place stays what it was. */
  #arrange() {
    const { state, list } = this;
    const leaf = state.leafNode;
    const atLeaf = state.follows;
    const before = performance.now();
    const was = state.layout.nodes[state.layout.row[leaf]] === leaf ? leaf : -1;
    const shape = state.layout;
    state.arrange();
    this.stale.layout = false;
    this.arranged = performance.now();
    this.cost = this.arranged - before;
    this.#size();
    if (this.anchor && this.anchor.id === this.store.leaf) {
      list.startGlide();
      list.keep(state.layout.row[state.leafNode], this.anchor.offset);
      this.anchor = null;
      this.shouldReveal = true;
    } else if (atLeaf && (was !== state.leafNode || shape.count !== state.layout.count)) this.shouldReveal = true;
  }

  #draw() {
    const { state, list } = this;
    if (this.shouldReveal) list.reveal(state.layout.row[state.tree.live >= 0 ? state.tree.live : state.leafNode]);
    this.shouldReveal = false;
    list.draw();
    this.bar.show(this.open);
    if (this.open) this.panel.show();
    this.stale.rows = false;
  }

  /** Room for all rows up to a limit; it only grows, so that nothing below jumps. */
  #size() {
    const wanted = Math.min(MOST, Math.max(LEAST, this.state.layout.count * this.list.metrics.row + 12));
    if (wanted <= (this.height ?? 0)) return;
    this.height = wanted;
    this.root.style.setProperty("--rows", `${wanted}px`);
  }

  #resized() {
    const width = this.root.clientWidth;
    if (!width) return; // hidden: nothing can be measured
    const size = width < 460 ? "slim" : width < NARROW ? "narrow" : width < 980 ? "medium" : "wide";
    const changed = this.root.dataset.size !== size;
    this.root.dataset.size = size;
    const slim = size === "slim" || size === "narrow";
    this.list.metrics = { row: 28, lane: slim ? 12 : 16, inset: slim ? 4 : 10, max: slim ? 6 : 12 };
    this.state.maxLanes = slim ? 3 : 6;
    if (changed) this.refresh({ layout: true });
    else this.list.scrolled();
  }

  // ------------------------------------------------------------ pointer and keys

  /** @param {MouseEvent} event */
  #click(event) {
    const node = this.list.nodeAt(event);
    if (node < 0 || this.label.open) return;
    if (event.target instanceof Element && event.target.closest("[data-part=fold]")) return this.fold(node);
    if (event.altKey) return this.look(node);
    if (event.ctrlKey || event.metaKey) return this.select(node);
    this.checkout(node);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const action = actionOf(event);
    if (!action || this.label.open) return;
    event.preventDefault();
    this.act(action, event.key);
  }

  /**
   * @param {Action} action
   * @param {string} [key]
   */
  act(action, key = "") {
    const { state } = this;
    const node = state.layout.nodes[state.focusRow] ?? -1;
    switch (action) {
      case "left":
        return this.#left(node);
      case "right":
        return state.layout.folded.has(node) ? this.fold(node) : this.look(target(state.layout, state.focusRow, "child"));
      case "checkout":
        return this.checkout(node);
      case "leaf":
      case "back":
        return action === "back" && !this.help.hidden ? this.toggleHelp() : this.toLeaf();
      case "label":
        return this.askLabel(node);
      case "undo":
        return this.undo();
      case "search":
        return this.bar.input.focus();
      case "help":
        return this.toggleHelp();
      case "unfold":
        return this.unfold();
      case "order":
        return this.toggleOrder();
      case "hoist":
        return this.hoist(node);
      case "entry":
        return this.panel.choose(this.panel.tab === "entry" ? "context" : "entry");
      case "filter":
        return this.setFilter(/** @type {const} */ (["default", "notools", "user", "labelled", "all"])[Number(key) - 1]);
      default:
        return this.look(target(state.layout, state.focusRow, action, Math.floor(this.list.height / this.list.metrics.row) - 1));
    }
  }

  /** @param {number} node */
  #left(node) {
    const { layout } = this.state;
    if (layout.expandable(node) && !layout.folded.has(node)) this.fold(node);
    else this.look(target(layout, this.state.focusRow, "parent"));
  }

  // ------------------------------------------------------------ focus

  /** @param {number} node */
  look(node) {
    if (node < 0) return;
    this.state.look(node);
    this.list.reveal(this.state.focusRow);
    this.list.draw();
    if (this.open) this.panel.show();
    this.#tellFocus();
  }

  /** @param {string|null} id */
  lookAt(id) {
    const node = this.state.tree.node(id);
    if (node < 0) return this.notice.say(`${short(id ?? "")} is not in this view.`);
    if (this.state.reveal(node)) this.#arrange();
    this.look(node);
  }

  toLeaf() {
    const { state } = this;
    if (state.reveal(state.leafNode)) this.#arrange();
    this.look(Math.max(ROOT, state.leafNode));
  }

  #tellFocus() {
    clearTimeout(this.told);
    this.told = window.setTimeout(() => this.store.tell("focus", { entry: this.state.focus, selected: this.state.selected }), 60);
  }

  /** @param {number} node */
  select(node) {
    const { state } = this;
    const id = state.tree.id(node);
    if (!id) return;
    state.selected = state.selected.includes(id) ? state.selected.filter((other) => other !== id) : [...state.selected, id];
    this.notice.say(`${state.selected.length} selected.`);
    this.list.draw();
    this.#tellFocus();
  }

  // ------------------------------------------------------------ the leaf

  /** @param {number} node */
  checkout(node) {
    const { state, store } = this;
    if (node < 0) return;
    const why = this.#refusal(node);
    this.look(node);
    if (why) return this.notice.say(why);
    const id = state.tree.id(node);
    this.anchor = null;
    state.pending = node;
    const offset = this.list.offset(state.layout.row[node]);
    this.list.draw();
    store.request("checkout", { entry: id }).then((answer) => this.#checkedOut(answer, node, offset), (error) => this.#refused(error));
  }

  /** @param {number} node */
  #refusal(node) {
    const { state, store } = this;
    if (node === state.tree.live) return "This answer is still being written.";
    if (node === state.leafNode) return "Already the leaf: nothing to write.";
    if (store.status === "running") return "A run is under way, so this only looks. The leaf can be moved when the run has ended.";
    if (store.status === "read-only") return "This session is read-only here, so this only looks.";
    return "";
  }

  /**
   * @param {{leaf: string|null, previous: string|null, editor_text?: string|null, line?: string, line_number?: number|null}} answer
   * @param {number} node
   * @param {number} offset
   */
  #checkedOut(answer, node, offset) {
    const { state } = this;
    state.pending = -1;
    state.follows = true;
    if (answer.previous !== undefined && answer.previous !== answer.leaf) this.trail.push(answer.previous);
    this.anchor = { id: answer.leaf, offset };
    this.panel.editor(answer.editor_text ?? null);
    this.notice.say(this.#moved(answer, node), written(answer));
    this.refresh({ layout: true });
  }

  /**
   * @param {{leaf: string|null, editor_text?: string|null}} answer
   * @param {number} node
   */
  #moved(answer, node) {
    const where = answer.leaf === null ? "the start of the session" : short(answer.leaf);
    const text = this.state.tree.rows[node].text;
    if (answer.editor_text) return `Checked out ${where}, just before ${quote(answer.editor_text)}.`;
    return `Checked out ${where}${text ? ` ${quote(text)}` : ""}.`;
  }

  /** @param {Error} error */
  #refused(error) {
    this.state.pending = -1;
    this.notice.say(`Not checked out: ${error.message}`);
    this.refresh();
  }

  undo() {
    if (!this.trail.length) return this.notice.say("No checkout to undo in this view.");
    const id = this.trail.pop() ?? null;
    const back = this.state.tree.node(id);
    if (this.#refusal(back)) return this.notice.say(this.#refusal(back));
    this.store.request("checkout", { entry: id }).then((answer) => {
      this.#checkedOut(answer, back, this.list.offset(this.state.layout.row[this.state.layout.nearest(back)] ?? 0));
      this.trail.pop(); // undoing is not something to undo
    }, (error) => this.#refused(error));
  }

  // ------------------------------------------------------------ labels

  /** @param {number} node */
  askLabel(node) {
    if (node <= ROOT || node === this.state.tree.live) return this.notice.say("Only entries of the log can be labelled.");
    if (this.store.status === "read-only") return this.notice.say("This session is read-only here.");
    this.label.edit(node, this.state.store.labels.get(this.state.tree.rows[node].id) ?? "");
  }

  /**
   * @param {number} node
   * @param {string} text
   */
  setLabel(node, text) {
    const entry = this.state.tree.rows[node].id;
    this.store.request("label", { entry, label: text.trim() || null }).then(
      (answer) => this.notice.say(text.trim() ? `Labelled ${short(entry)} ${quote(text)}.` : `Label of ${short(entry)} removed.`, written(answer)),
      (error) => this.notice.say(`Not labelled: ${error.message}`),
    );
  }

  // ------------------------------------------------------------ what is shown

  /** @param {number} node */
  fold(node) {
    const { state } = this;
    const id = state.tree.rows[node].id;
    if (!state.layout.expandable(node)) return;
    if (!state.folds.delete(id)) state.folds.add(id);
    this.list.startGlide();
    this.#arrange();
    this.#draw();
  }

  unfold() {
    this.state.folds.clear();
    this.#arrange();
    this.#draw();
  }

  /** @param {import("./types.js").FilterMode} mode */
  setFilter(mode) {
    this.state.filter = mode;
    this.#arrange();
    this.list.reveal(this.state.focusRow);
    this.#draw();
  }

  toggleOrder() {
    const { state } = this;
    state.order = state.order === "active" ? "log" : "active";
    this.list.startGlide();
    this.#arrange();
    this.list.reveal(state.focusRow);
    this.#draw();
    this.notice.say(state.order === "log" ? "Branches in the order they were written." : "The active branch comes first.");
  }

  /** @param {number} node */
  hoist(node) {
    const { state } = this;
    state.hoist = state.hoist === null ? state.tree.id(node) : null;
    this.#arrange();
    this.list.reveal(state.focusRow);
    this.#draw();
    this.notice.say(state.hoist ? `Only what is below ${short(state.hoist)}; z shows all again.` : "The whole tree.");
  }

  /** @param {string} query */
  search(query) {
    this.state.query = query;
    this.state.find();
    this.list.draw();
    this.bar.show(this.open);
  }

  /** @param {1|-1} step */
  hit(step) {
    const { state } = this;
    if (!state.hits?.size) return;
    if (state.revealHits()) this.#arrange();
    const { layout, hits } = state;
    for (let i = 1; i <= layout.count; i++) {
      const row = (state.focusRow + step * i + layout.count * 2) % layout.count;
      if (hits.has(layout.nodes[row])) return this.look(layout.nodes[row]);
    }
  }

  togglePanel() {
    this.open = !this.open;
    this.root.classList.toggle("pt-solo", !this.open);
    this.panel.key = "";
    this.#draw();
  }

  toggleHelp() {
    this.help.hidden = !this.help.hidden;
  }
}

/** @param {{line?: string, line_number?: number|null, position?: number}} answer */
function written(answer) {
  if (!answer.line) return null;
  const place = answer.line_number ? `line ${answer.line_number}` : "one entry";
  return { summary: `wrote ${place}`, line: answer.line };
}

function helpCard() {
  const rows = HELP.map(([keys, what]) => h("div", null, h("kbd", { text: keys }), h("span", { text: what })));
  return h("div", { class: "pt-help", hidden: true, role: "note" }, h("strong", { text: "Keys" }), ...rows);
}
