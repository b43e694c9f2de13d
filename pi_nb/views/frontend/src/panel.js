/** The side panel: what a model would be sent from here; the entry as it is in the log; or two contexts compared. */

import { card, fit, toLastExchange } from "./card.js";
import { compareBody, compareHead } from "./compare.js";
import { h, setText } from "./dom.js";
import { json } from "./json.js";
import { ROOT } from "./tree.js";
import { count, grouped, short, wording } from "./wording.js";

/**
 * @typedef {import("./state.js").ViewState} ViewState
 * @typedef {import("./types.js").ContextAnswer} ContextAnswer
 *
 * @typedef {"context"|"entry"|"compare"} Tab
 *
 * @typedef {object} Hooks
 * @property {(id: string|null) => void} look
 * @property {(text: string) => void} say
 * @property {() => void} grown   The panel needs more room than before.
 * @property {() => void} leave   Nothing is to be compared any more.
 */

const HOW_TO_COMPARE = "Ctrl-click (⌘-click) a row, or press c on it, to compare its context with that of the leaf; more rows, to compare them with each other. C on a branch point compares all its branches.";
const REMEMBERED = 60; // contexts
const AT_FIRST = 16; // messages shown without being asked for more
const SKETCHED = AT_FIRST; // rows shown from what the page knows until the kernel answers

export class Panel {
  /**
   * @param {ViewState} state
   * @param {Hooks} hooks
   * @param {string} uid
   */
  constructor(state, hooks, uid) {
    this.state = state;
    this.hooks = hooks;
    /** @type {Tab} */ this.tab = "context";
    /** Contexts by entry: they never change, a path is what it is. @type {Map<string, ContextAnswer>} */
    this.known = new Map();
    /** What is on show, to leave it alone. */ this.key = "";
    /** A question is under way; the newest focus asks again when it is answered. */
    this.asking = false;
    this.closed = false;
    this.tabs = { context: this.#tab("context", "Context", uid), entry: this.#tab("entry", "Entry", uid), compare: this.#tab("compare", "Compare", uid) };
    this.head = h("div", { class: "pt-phead" });
    this.body = h("div", { class: "pt-pbody", id: `${uid}-panel`, role: "tabpanel", tabindex: "0", "aria-label": "Context" });
    this.live = h("div", { class: "pt-card pt-t-assistant pt-live", hidden: true });
    this.edit = h("div", { class: "pt-edit", hidden: true });
    const tabs = h("div", { class: "pt-tabs", role: "tablist", "aria-label": "Side panel" }, ...Object.values(this.tabs));
    this.root = h("section", { class: "pt-panel", "aria-label": "What the model sees" }, tabs, this.head, this.body, this.edit);
    for (const el of [tabs, this.head, this.body]) el.addEventListener("keydown", (event) => event.key === "Escape" && this.tab === "compare" && hooks.leave());
  }

  /**
   * @param {Tab} name
   * @param {string} title
   * @param {string} uid
   */
  #tab(name, title, uid) {
    const on = name === "context";
    return h("button", { class: "pt-tab", type: "button", role: "tab", "aria-selected": String(on), "aria-controls": `${uid}-panel`,
      text: title, onclick: () => this.choose(name) });
  }

  /** @param {Tab} tab */
  choose(tab) {
    this.tab = tab;
    for (const [name, el] of Object.entries(this.tabs)) el.setAttribute("aria-selected", String(name === tab));
    this.body.setAttribute("aria-label", String(this.tabs[tab].textContent));
    this.root.classList.toggle("pt-two", tab === "compare");
    this.key = "";
    this.show();
  }

  /** Show what belongs to the focus: at once what is known, then what the kernel says. */
  show() {
    const { store } = this.state;
    const entry = this.tab === "entry" ? this.state.newestEntry : this.state.focusEntry;
    const places = this.tab === "compare" ? this.state.compared : [];
    const names = places.map((id) => this.state.labels.get(id ?? ""));
    const key = `${this.tab}|${store.epoch}|${places.length ? [...places, ...names] : entry}|${this.state.leaf}|${this.state.moment === null}`;
    if (key === this.key || !store.epoch) return;
    this.key = key;
    if (this.tab === "compare") return void this.#askCompare(places, key);
    if (this.tab === "entry") return void this.#askEntry(entry, key);
    const known = this.known.get(`${store.epoch}|${entry}`);
    this.#context(known ?? this.#sketch(entry), !known);
    if (!known) void this.#ask(entry);
  }

  /** @param {string|null} entry */
  async #ask(entry) {
    if (this.asking) return;
    this.asking = true;
    const { store } = this.state;
    const { epoch } = store;
    try {
      const answer = await store.request("context", { entry });
      this.#remember(`${epoch}|${entry}`, answer);
    } catch (error) {
      this.hooks.say(`No context: ${/** @type {Error} */ (error).message}`);
      this.#remember(`${epoch}|${entry}`, { ...this.#sketch(entry), failed: /** @type {Error} */ (error).message, ...(store.link === "closed" ? { lost: true } : {}) });
    } finally {
      this.asking = false;
    }
    this.key = "";
    if (!this.closed) this.show();
  }

  /**
   * @param {string} key
   * @param {any} answer
   */
  #remember(key, answer) {
    this.known.set(key, answer);
    for (const old of this.known.keys()) {
      if (this.known.size <= REMEMBERED) break;
      this.known.delete(old);
    }
  }

  /** The kernel is back: ask again what it could not answer. */
  forgive() {
    for (const [key, answer] of this.known) if ("lost" in answer) this.known.delete(key), (this.key = "");
    if (!this.key && !this.closed) this.show();
  }

  /**
   * The messages on the path as far as the rows tell: shown until the kernel's projection is there.
   * @param {string|null} entry
   * @returns {ContextAnswer}
   */
  #sketch(entry) {
    const { tree } = this.state;
    const rows = tree.path(tree.node(entry)).map((node) => tree.rows[node]);
    const said = rows.filter((row) => wording(row).quiet === false);
    const items = said.slice(-SKETCHED).map((row) => ({ id: row.id, role: row.role ?? row.type, text: row.text, tokens: row.tokens,
      calls: row.tools?.map((tool, i) => `${tool}: ${row.calls?.[i] ?? ""}`), error: row.error }));
    return { entry, items, total: said.length, tokens: 0 };
  }

  /**
   * @param {ContextAnswer & {failed?: string}} answer
   * @param {boolean} sketch
   */
  #context(answer, sketch) {
    this.#heading(answer, sketch);
    const items = answer.items.slice(-AT_FIRST);
    this.body.classList.toggle("pt-sketch", sketch);
    this.body.replaceChildren(
      ...this.#earlier(answer, answer.items.length - items.length),
      ...items.map((item) => card(item, !!answer.left_out?.length, this.hooks.look)),
      ...(answer.total === 0 ? [h("p", { class: "pt-empty", text: "Nothing yet. The next prompt starts from an empty context." })] : []),
      this.live,
      ...this.#leftOut(answer),
    );
    this.showLive();
    fit(this.body);
    toLastExchange(this.body);
  }

  /** The room has changed. */
  resized() {
    if (this.tab === "context") fit(this.body);
  }

  /**
   * What stands above the first card: a way to the others that are here, or how many more there are.
   * @param {ContextAnswer} answer
   * @param {number} more
   */
  #earlier(answer, more) {
    const beyond = answer.total - answer.items.length;
    const rest = beyond > 0 ? [h("p", { class: "pt-gap", text: `${grouped(beyond)} earlier messages are sent too.` })] : [];
    if (more <= 0) return rest;
    const button = h("button", { class: "pt-earlier", type: "button", text: `Show ${more} earlier` });
    button.addEventListener("click", () => {
      const from = this.body.scrollHeight - this.body.scrollTop;
      button.replaceWith(...rest, ...answer.items.slice(0, more).map((item) => card(item, !!answer.left_out?.length, this.hooks.look)));
      fit(this.body);
      this.body.scrollTop = this.body.scrollHeight - from;
    });
    return [button];
  }

  /**
   * @param {ContextAnswer & {failed?: string}} answer
   * @param {boolean} sketch
   */
  #heading(answer, sketch) {
    const { leaf, moment } = this.state;
    const atLeaf = answer.entry === leaf;
    const title = moment ? (atLeaf ? "The model saw" : "From here the model would have seen") : atLeaf ? "The model sees" : "From here the model would see";
    const tokens = answer.tokens ? ` · about ${count(answer.tokens)} tokens` : "";
    const facts = [answer.model, answer.thinking && answer.thinking !== "off" ? `thinking ${answer.thinking}` : "",
      answer.tools ? `${answer.tools.length} ${answer.tools.length === 1 ? "tool" : "tools"}` : ""];
    this.head.replaceChildren(
      h("div", { class: "pt-ptitle" }, h("strong", { text: title }),
        h("span", { class: `pt-pwhere${atLeaf ? " pt-tag pt-tag-leaf" : ""}`, text: atLeaf ? (moment ? "leaf then" : "leaf") : answer.entry ? short(answer.entry) : "session start" })),
      h("div", { class: "pt-pfacts", text: `${answer.total} ${answer.total === 1 ? "message" : "messages"}${tokens}${sketch ? " …" : ""}` }),
      h("div", { class: "pt-pchips" }, ...facts.filter(Boolean).map((fact) => h("span", { class: "pt-chip", text: String(fact) }))),
      ...(answer.failed ? [h("div", { class: "pt-pfail", role: "alert", text: answer.failed })] : []),
    );
  }

  /** @param {ContextAnswer} answer */
  #leftOut(answer) {
    const list = answer.left_out ?? [];
    if (!list.length) return [];
    const items = list.map((item) => h("li", null,
      h("button", { class: "pt-id", type: "button", text: short(item.id), onclick: () => this.hooks.look(item.id) }),
      h("span", { class: "pt-why", text: item.why }), h("span", { class: "pt-faint", text: item.text })));
    return [h("details", { class: "pt-left" }, h("summary", { text: `On the path, but not sent: ${grouped(answer.left_total ?? list.length)}` }), h("ul", null, ...items))];
  }

  /** Show the growing answer below the context it answers. */
  showLive() {
    const { tree, focusNode, lives } = this.state;
    const node = tree.isLive(focusNode) ? focusNode : (lives.find((live) => tree.parent[live] === focusNode) ?? -1);
    const here = this.tab === "context" && node >= 0;
    this.live.hidden = !here;
    if (!here) return;
    const near = this.body.scrollHeight - this.body.scrollTop - this.body.clientHeight < 40;
    this.#fillLive(/** @type {import("./types.js").LiveRow} */ (tree.rows[node]));
    if (near) this.body.scrollTop = this.body.scrollHeight;
  }

  /** @param {import("./types.js").LiveRow} live */
  #fillLive(live) {
    let text = /** @type {HTMLElement|null} */ (this.live.querySelector(".pt-ctext"));
    if (!text) {
      text = h("div", { class: "pt-ctext" });
      this.live.replaceChildren(h("header", null, h("span", { class: "pt-who", text: "assistant" }), h("span", { class: "pt-why", text: "writing" })), text);
    }
    setText(text, live.tail || live.text || live.note || "");
  }

  /**
   * @param {(string|null)[]} entries
   * @param {string} key
   */
  async #askCompare(entries, key) {
    if (!entries.length) return this.#fill(compareHead(null, this.hooks.leave), [h("p", { class: "pt-empty", text: HOW_TO_COMPARE })]);
    try {
      const answer = await this.state.store.request("compare", { entries });
      if (this.key !== key || this.closed) return;
      this.#fill(compareHead(answer, this.hooks.leave), compareBody(answer, this.state, this.hooks.look));
    } catch (error) {
      if (this.key === key) this.#fill(compareHead(null, this.hooks.leave), [h("p", { class: "pt-pfail", text: /** @type {Error} */ (error).message })]);
    }
  }

  /**
   * @param {Node[]} head
   * @param {Node[]} body
   */
  #fill(head, body) {
    this.head.replaceChildren(...head);
    this.body.classList.remove("pt-sketch");
    this.body.replaceChildren(...body);
    this.body.scrollTop = 0;
  }

  /**
   * @param {string|null} entry
   * @param {string} key
   */
  async #askEntry(entry, key) {
    const { store } = this.state;
    const here = () => this.key === key && !this.closed;
    if (entry === null) return this.#entry(entry, store.session ?? "session", h("p", { class: "pt-empty", text: "The session itself: a header line, no entry." }));
    try {
      const answer = await store.request("entry", { entry });
      if (here()) this.#entry(entry, where(answer), json(answer.raw));
    } catch (error) {
      if (here()) this.#entry(entry, "", h("p", { class: "pt-pfail", text: /** @type {Error} */ (error).message }));
    }
  }

  /**
   * @param {string|null} entry
   * @param {string} place
   * @param {Node} content
   */
  #entry(entry, place, content) {
    const node = this.state.tree.node(entry);
    const type = node > ROOT ? this.state.tree.rows[node].type : "session";
    const title = h("div", { class: "pt-ptitle" }, h("strong", { text: type }), h("span", { class: "pt-pwhere", text: entry ?? "" }));
    this.#fill([title, h("div", { class: "pt-pfacts", text: place })], [content]);
  }

  /**
   * The text of a user message whose parent became the leaf, for editing; null puts the box away.
   * @param {string|null} text
   */
  editor(text) {
    this.edit.hidden = !text;
    if (!text) return void this.edit.replaceChildren();
    const area = h("textarea", { class: "pt-area", rows: "3", "aria-label": "Text of the message, to edit", spellcheck: "false" });
    area.value = text;
    const copy = h("button", { class: "pt-button", type: "button", text: "Copy as %%pi cell", onclick: () => this.#copy(area.value) });
    const close = h("button", { class: "pt-button pt-plain", type: "button", text: "Close", onclick: () => this.editor(null) });
    this.hooks.grown();
    this.edit.replaceChildren(h("div", { class: "pt-faint", text: "The leaf is before this message. Its text, to edit and ask again:" }), area,
      h("div", { class: "pt-buttons" }, copy, close));
  }

  /** @param {string} text */
  async #copy(text) {
    try {
      await navigator.clipboard.writeText(`%%pi\n${text}`);
      this.hooks.say("Copied. Paste it into a cell.");
    } catch {
      this.hooks.say("The browser did not allow copying. Select the text and copy it.");
    }
  }

  close() {
    this.closed = true;
    this.known.clear();
  }
}

/** @param {{position?: number, line_number?: number|null, bytes?: number}} answer */
function where(answer) {
  const place = answer.line_number ? `line ${answer.line_number} of the file` : answer.position !== undefined ? `entry ${answer.position + 1} of the log` : "";
  return [place, answer.bytes ? `${answer.bytes} bytes` : ""].filter(Boolean).join(" · ");
}
