/**
 * What can be done from the view beside moving the leaf: prompting, steering, summarising what was left, forking,
 * handing out. One for each view; the draft and the kernel's word on the agent are shared by all views of a session.
 */

import { offersFor } from "./actions.js";
import { goToCell } from "./cells.js";
import { Composer } from "./composer.js";
import { h } from "./dom.js";
import { remember } from "./draft.js";
import { copy, download, fetchPage } from "./giving.js";
import { written } from "./leaf.js";
import { LeaveBar } from "./leave.js";
import { leftBehind } from "./left.js";
import { Menu } from "./menu.js";
import { QuestionCard } from "./question.js";
import { asCell, promptIn } from "./speaking.js";
import { ROOT } from "./tree.js";
import { quote, short, shortSession } from "./wording.js";

/**
 * @typedef {import("./view.js").View} View
 * @typedef {import("./actions.js").Deed} Deed
 */

export class Desk {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    const { store } = view;
    const back = () => view.list.scroller.focus({ preventScroll: true });
    this.composer = new Composer(store, { leave: back, copyCell: (text) => void this.#hand(asCell(text), "Copied. Paste it into a cell."), asked: () => this.leave.hide(), past: () => view.state.moment !== null });
    this.leave = new LeaveBar({ summarise: (left, instructions) => this.#summarise(left, instructions), never: () => this.#never(), done: back });
    this.question = new QuestionCard((call, given) => store.request("answer", { call, ...given }));
    this.paper = h("div", { class: "pt-paper", hidden: true });
    this.root = h("div", { class: "pt-desk" }, this.leave.root, this.paper, this.question.root, this.composer.root);
    /** @type {Menu|null} */ this.menu = null;
    this.back = back;
    /** What the last move left, also if it is not asked about. @type {import("./leave.js").Left|null} */ this.left = null;
    this.forget = () => {};
    this.remembered = "";
    /** What is said of the open question. */ this.waits = "";
  }

  close() {
    this.menu?.close(false);
    this.composer.close();
    this.forget();
  }

  /** Show how things stand. */
  show() {
    const { store } = this.view;
    const { agent } = store;
    if (agent && store.session && this.remembered !== store.session) this.#remember(store.session);
    if (agent && store.draft.giveBack(agent.returned, agent.returned_number)) {
      this.view.notice.say("What was not said any more is back in the box.");
      store.tell("taken", { number: agent.returned_number });
    }
    this.composer.show();
    this.#ask(agent?.question ?? null);
    if (this.leave.open && (this.#movedOn() || this.composer.speech.mode === "run")) this.leave.hide();
  }

  /**
   * Show the open question, and say that there is one, for as long as there is.
   * @param {import("./ask.js").Question|null} question
   */
  #ask(question) {
    const { notice } = this.view;
    if (this.question.show(question) && question) notice.say((this.waits = `${question.tool} waits for your consent.`));
    else if (!question && this.waits && notice.text.textContent === this.waits) notice.say((this.waits = ""));
  }

  /** The leaf is elsewhere than the last move put it; that it is there may not have been told yet. */
  #movedOn() {
    const { leaf } = this.view.store;
    return leaf !== this.left?.at && leaf !== this.left?.from;
  }

  /** @param {string} session */
  #remember(session) {
    this.forget();
    this.remembered = session;
    this.forget = remember(this.view.store.draft, session);
  }

  /**
   * @param {string} size
   * @param {number} width  px
   */
  resized(size, width) {
    this.composer.resized(size, width);
  }

  focus() {
    if (this.composer.root.hidden) return this.view.notice.say("There is no agent behind this view; %pi_tree shows one.");
    this.composer.focus();
  }

  // ------------------------------------------------------------ after a move

  /**
   * The leaf has moved: the text to edit goes into the box, and what was left may be summed up.
   * @param {{leaf: string|null, previous: string|null, editor_text?: string|null}} answer
   */
  moved(answer) {
    const { store, state } = this.view;
    this.#lay(null);
    if (!store.agent) return this.view.panel.editor(answer.editor_text ?? null);
    store.draft.offer(answer.editor_text ?? null);
    this.leave.hide();
    const found = leftBehind(state.tree, answer.previous, answer.leaf);
    this.left = found.messages ? { from: answer.previous, at: answer.leaf, ...found } : null;
  }

  /** A move that is no undoing may want to take a summary along. */
  askAbout() {
    if (this.left && this.view.store.agent && !this.view.store.neverAsk) this.leave.show(this.left);
  }

  /** Offer the summary of what the last move left, also where it is not asked any more. */
  offerSummary() {
    const { store, notice } = this.view;
    if (!store.agent) return notice.say("There is no agent behind this view; %pi_tree shows one.");
    if (!this.left || this.left.at !== store.leaf) return notice.say("No messages were left behind by a move just now.");
    store.neverAsk = false;
    this.leave.show(this.left);
    this.leave.focus();
  }

  #never() {
    this.view.store.neverAsk = true;
    this.view.notice.say("Not asked any more in this view. s offers a summary of what a move left.");
  }

  /**
   * @param {import("./leave.js").Left} left
   * @param {string} instructions
   * @returns {Promise<string>}
   */
  async #summarise(left, instructions) {
    const { store, notice } = this.view;
    try {
      const answer = await store.request("summarise", { left: left.from, at: left.at, instructions });
      this.left = null;
      notice.say(`Summary written as ${short(answer.entry)}; the model is sent it from here on.`, written(answer));
      return "";
    } catch (error) {
      const why = /** @type {Error} */ (error).message;
      notice.say(`No summary: ${why}`);
      return why;
    }
  }

  // ------------------------------------------------------------ menu

  /**
   * @param {number} node
   * @param {{x: number, y: number, top?: number}} at
   */
  openMenu(node, at) {
    const { view } = this;
    const { state, store } = view;
    const row = node > ROOT && !state.tree.isLive(node) ? state.tree.rows[node] : null;
    const offers = offersFor(row, { agent: store.agent !== null, notebook: store.inNotebook, kernel: store.link !== "closed", refusal: view.leaf.refusal(node), leaving: "" });
    this.menu ??= new Menu(view.root, this.back);
    if (row) view.look(node);
    this.menu.show(row ? `Entry ${short(row.id)}` : "Session", offers.map((offer) => ({ ...offer, act: () => this.act(offer.deed, node) })), at);
  }

  /**
   * The menu of a row, at that row.
   * @param {number} node
   * @param {number} [x]
   */
  menuAt(node, x) {
    const el = this.view.list.shown.get(node)?.root;
    if (!el) return;
    const { left, top, bottom } = el.getBoundingClientRect();
    this.openMenu(node, { x: x ?? left + 60, y: bottom, top });
  }

  /**
   * @param {Deed} deed
   * @param {number} node
   */
  act(deed, node) {
    const { leaf } = this.view;
    const entry = this.view.state.tree.id(node);
    switch (deed) {
      case "checkout":
        return leaf.checkout(node);
      case "compare":
        return this.view.select(node);
      case "label":
        return leaf.askLabel(node);
      case "cell":
        return this.jump(node);
      case "copycell":
        return void this.copyCell(node);
      case "copytext":
        return void this.#copyText(node);
      case "forkat":
        return void this.#fork(entry, "at");
      case "forkbefore":
        return void this.#fork(entry, "before");
      case "forkwhole":
        return void this.#fork(null, "whole");
      case "download":
        return void this.#download();
      case "export":
        return void this.#export();
      default:
        return;
    }
  }

  // ------------------------------------------------------------ deeds

  /**
   * Bring the cell that wrote a prompt into view.
   * @param {number} node
   */
  jump(node) {
    const { state, notice, store, root } = this.view;
    const row = state.tree.rows[node];
    if (!row?.cell) return notice.say("No cell wrote this entry.");
    if (!store.inNotebook) return notice.say(`Cell [${row.cell}] wrote it, in the notebook it comes from.`);
    const found = goToCell(row, state.tree.rows, root);
    if (found === "gone") notice.say(`The cell that wrote this is not in this notebook: it was deleted or changed, or stands in another one.`);
    else if (found === "none") notice.say("This page shows no cells to go to.");
    else notice.say(`Cell [${row.cell}] wrote ${quote(row.text)}.`);
  }

  /** @param {number} node */
  async copyCell(node) {
    if (this.view.state.tree.rows[node]?.role !== "user") return this.view.notice.say("Only prompts can be copied as a cell.");
    const text = await this.#text(node);
    if (text !== null) await this.#hand(asCell(text), "Copied. Paste it into a cell.");
  }

  /** @param {number} node */
  async #copyText(node) {
    const text = await this.#text(node);
    if (text !== null) await this.#hand(text, "Copied.");
  }

  /**
   * All of what an entry says; rows know only its beginning.
   * @param {number} node
   * @returns {Promise<string|null>}
   */
  async #text(node) {
    const { store, state, notice } = this.view;
    const row = state.tree.rows[node];
    try {
      const { raw } = await store.request("entry", { entry: row.id });
      return promptIn(raw) ?? row.text;
    } catch (error) {
      notice.say(`Not copied: ${/** @type {Error} */ (error).message}`);
      return null;
    }
  }

  /**
   * @param {string} text
   * @param {string} said
   */
  async #hand(text, said) {
    if (await copy(text, this.view.root)) {
      this.#lay(null);
      return this.view.notice.say(said);
    }
    this.view.notice.say("The browser does not let this page copy. The text is selected: copy it with Ctrl+C or ⌘C.");
    this.#lay(text);
  }

  /** Lay a text out to be copied by hand. @param {string|null} text */
  #lay(text) {
    this.paper.hidden = text === null;
    if (text === null) return this.paper.replaceChildren();
    const area = h("textarea", { class: "pt-area", readonly: true, rows: String(Math.min(6, text.split("\n").length + 1)), "aria-label": "Text to copy" });
    area.value = text;
    const away = h("button", { class: "pt-button pt-plain", type: "button", text: "Close", onclick: () => (this.#lay(null), this.back()) });
    area.addEventListener("keydown", (event) => event.key === "Escape" && (this.#lay(null), this.back()));
    this.paper.replaceChildren(area, away);
    area.focus();
    area.select();
  }

  /**
   * @param {string|null} entry
   * @param {"whole"|"at"|"before"} where
   */
  async #fork(entry, where) {
    await this.#try("Not forked", async () => {
      const made = await this.view.store.request("fork", { entry, where });
      const name = made.name ? ` ${quote(made.name)}` : "";
      this.view.notice.say(`Forked into session ${shortSession(made.session)}${name}, ${made.entries} ${made.entries === 1 ? "entry" : "entries"}; this one stays open. To go there: ${made.open}`,
        { summary: "its file", line: made.file });
    });
  }

  async #export() {
    await this.#try("Not written", async () => {
      const made = await this.view.store.request("export");
      this.view.notice.say(`Written beside the notebook: ${made.name}`, { summary: "its path", line: made.file });
    });
  }

  async #download() {
    await this.#try("Not downloaded", async () => {
      const { store, notice } = this.view;
      const tell = (/** @type {number} */ share) => share < 1 && notice.say(`Fetching the page: ${Math.floor(100 * share)} %`);
      const { name, page } = await fetchPage((part, token) => store.request("page", { part, token }), tell);
      download(page, name);
      notice.say(`Downloaded as ${name}.`);
    });
  }

  /**
   * @param {string} what
   * @param {() => Promise<void>} deed
   */
  async #try(what, deed) {
    try {
      await deed();
    } catch (error) {
      this.view.notice.say(`${what}: ${/** @type {Error} */ (error).message}`);
    }
  }
}
