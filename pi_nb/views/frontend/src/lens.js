/** What is shown, and how: folds, filter, order, search, a single subtree, panel and help. Writes nothing. */

import { short } from "./wording.js";

/** @typedef {import("./view.js").View} View */

export class Lens {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
  }

  /** @param {number} node */
  fold(node) {
    const { state } = this.view;
    const id = state.tree.rows[node].id;
    if (!state.layout.expandable(node)) return;
    if (!state.folds.delete(id)) state.folds.add(id);
    this.view.list.startGlide();
    this.view.arrange();
    this.view.draw();
  }

  unfold() {
    this.view.state.folds.clear();
    this.view.arrange();
    this.view.draw();
  }

  /** @param {import("./types.js").FilterMode} mode */
  setFilter(mode) {
    this.view.state.filter = mode;
    this.view.arrange();
    this.view.list.reveal(this.view.state.focusRow);
    this.view.draw();
  }

  toggleOrder() {
    const { state } = this.view;
    if (state.moment) return this.view.notice.say("The past is shown in the order of writing.");
    state.order = state.order === "active" ? "log" : "active";
    this.view.list.startGlide();
    this.view.arrange();
    this.view.list.reveal(state.focusRow);
    this.view.draw();
    this.view.notice.say(state.order === "log" ? "Branches in the order they were written." : "The active branch comes first.");
  }

  toggleTrail() {
    const { state } = this.view;
    state.trail = state.trail === "off" ? "last" : "off";
    this.view.arrange();
    this.view.draw();
  }

  /** All moves of the leaf, or only the last again. */
  allTracks() {
    this.view.state.trail = this.view.state.trail === "all" ? "last" : "all";
    this.view.draw();
  }

  toggleInspect() {
    const { state, notice } = this.view;
    state.inspect = !state.inspect;
    this.view.draw();
    notice.say(state.inspect ? "Inspect is on: every click only looks; Enter still checks out." : "Inspect is off: a click moves the leaf.");
  }

  /** @param {number} node */
  hoist(node) {
    const { state } = this.view;
    state.hoist = state.hoist === null ? state.tree.id(node) : null;
    this.view.arrange();
    this.view.list.reveal(state.focusRow);
    this.view.draw();
    this.view.notice.say(state.hoist ? `Only what is below ${short(state.hoist)}; z shows all again.` : "The whole tree.");
  }

  /** @param {string} query */
  search(query) {
    this.view.state.query = query;
    this.view.state.find();
    this.view.list.draw();
    this.view.bar.show(this.view.open, this.view.time.open);
  }

  /** @param {1|-1} step */
  hit(step) {
    const { state } = this.view;
    if (!state.hits?.size) return;
    if (state.revealHits()) this.view.arrange();
    const { layout, hits } = state;
    for (let i = 1; i <= layout.count; i++) {
      const row = (state.focusRow + step * i + layout.count * 2) % layout.count;
      if (hits.has(layout.nodes[row])) return this.view.look(layout.nodes[row]);
    }
  }

  togglePanel() {
    const { view } = this;
    view.open = !view.open;
    view.root.classList.toggle("pt-solo", !view.open);
    view.panel.key = "";
    view.draw();
  }

  toggleHelp() {
    this.view.help.hidden = !this.view.help.hidden;
  }
}
