/**
 * What this page knows of the session, and its talk with the kernel.
 *
 * Rows are pulled: the kernel raises `rev`, we ask `sync{epoch, have}`, it answers with a delta. Every delta says
 * from where to where it goes, so a lost or repeated message is noticed and mended by asking again. Other requests
 * carry our own number and are answered by `ack` or `nak`. Nothing is sent by changing a trait.
 */

import { Draft } from "./draft.js";
import { Lives } from "./lives.js";
import { History } from "./history.js";
import { Log } from "./log.js";
import { LIVE, Tree } from "./tree.js";

/**
 * @typedef {import("./types.js").Model} Model
 * @typedef {import("./types.js").Delta} Delta
 * @typedef {import("./types.js").LiveRow} LiveRow
 * @typedef {"rows"|"reset"|"labels"|"status"|"live"|"link"|"focus"|"agent"} Change
 *
 * @typedef {"ok"|"busy"|"silent"|"closed"} Link  busy: no answer for 300 ms; silent: for 10 s; closed: the comm is gone.
 */

const BUSY_AFTER = 300; // ms
const SILENT_AFTER = 10_000;
const PERSISTENT = 6; // times a question for rows is asked again
const QUIET_FOR = 5000; // ms of silence in a run after which is asked whether it still goes on
const GONE = "there is no connection to a kernel.";
const PROBED = 1200; // ms within which a kernel that is there answers when the host says that the connection changed

export class Store {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    this.tree = new Tree();
    this.log = new Log();
    this.history = new History(this.log);
    this.epoch = "";
    this.have = 0;
    /** Length of the log as the kernel last told. */
    this.total = 0;
    /** @type {string|null} */ this.leaf = null;
    /** @type {Map<string, string>} */ this.labels = new Map();
    /** @type {string|null} */ this.name = null;
    /** @type {string|null} */ this.session = null;
    /** @type {string|null} */ this.file = null;
    this.lives = new Lives(() => this.#expects(), () => this.#emit(this.#showLive() ? "rows" : "live"));
    this.status = String(model.get("status") ?? "idle");
    /** Text of the prompt box, for all views. */ this.draft = new Draft();
    /** Nobody wants to be asked what to do about what a move left. */ this.neverAsk = false;
    /** @type {Link} */ this.link = "ok";
    /** Entry the kernel asked us to focus. @type {string|null} */ this.wanted = null;
    /** @type {Set<(change: Change) => void>} */ this.listeners = new Set();
    /** @type {Map<number, {resolve: (answer: any) => void, reject: (reason: Error) => void, since: number}>} */
    this.waiting = new Map();
    this.number = 0;
    /** When the sync in flight was asked for; 0 if none. */
    this.syncing = 0;
    /** How often the open question was asked again. */ this.again = 0;
    /** @type {ReturnType<typeof setTimeout>|undefined} */ this.watch = undefined;
    /** @type {ReturnType<typeof setTimeout>|undefined} */ this.pulse = undefined;
    /** Runs while it is not known whether the kernel is still there. @type {ReturnType<typeof setTimeout>|undefined} */
    this.probing = undefined;
    this.offs = this.#listen();
  }

  #listen() {
    const { model } = this;
    const on = (/** @type {string} */ name, /** @type {(...args: any[]) => void} */ handler) => {
      model.on(name, handler);
      return () => model.off(name, handler);
    };
    return [
      on("msg:custom", (message) => this.receive(message)),
      on("change:rev", () => this.sync()),
      on("change:epoch", () => this.sync()),
      on("change:status", () => this.#setStatus()),
      on("change:agent", () => this.#emit("agent")),
      on("comm:close", () => this.#setLink("closed")),
      on("comm_live_update", () => this.#probe()),
    ];
  }

  /** Stop listening and forget who waits. */
  close() {
    for (const off of this.offs) off();
    clearTimeout(this.watch);
    clearTimeout(this.pulse);
    this.lives.clear();
    clearTimeout(this.probing);
    this.waiting.clear();
    this.listeners.clear();
  }

  /**
   * @param {(change: Change) => void} listener
   * @returns {() => void}
   */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** @param {Change} change */
  #emit(change) {
    for (const listener of [...this.listeners]) listener(change);
  }

  /** @param {string} [told]  By a delta, which may know better than the trait. */
  #setStatus(told) {
    const before = this.status;
    this.status = told ?? String(this.model.get("status") ?? "idle");
    this.#listenOn();
    if (told === undefined || told !== before) this.#emit("status");
    // The word that the log has grown may have been lost.
    if (told === undefined && this.status !== "running" && this.epoch) this.sync();
  }

  /** While a run is under way and nothing is heard, ask now and again: that it has ended may have been lost. */
  #listenOn() {
    clearTimeout(this.pulse);
    if (this.status === "running") this.pulse = setTimeout(() => (this.sync(), this.#listenOn()), QUIET_FOR);
  }

  /** How the agent behind this view stands; null if there is none. @returns {import("./types.js").AgentState|null} */
  get agent() {
    return this.model.get("agent") ?? null;
  }

  /** Whether the view stands in a notebook, not in a page of its own. */
  get inNotebook() {
    return this.model.get("key") !== "page";
  }

  /** Ask for what is missing, unless that question is already on its way. */
  sync() {
    const now = Date.now();
    if (this.syncing && now - this.syncing < 2000) return;
    this.syncing = now;
    this.#send({ op: "sync", id: ++this.number, epoch: this.epoch, have: this.have });
    this.#arm();
  }

  /** The host says that the connection changed (a restart): ask at once, and take silence for an answer. */
  #probe() {
    clearTimeout(this.probing);
    this.probing = setTimeout(() => this.#setLink("closed"), PROBED);
    this.syncing = 0;
    this.sync();
  }

  /**
   * @param {string} op
   * @param {Record<string, unknown>} [payload]
   * @returns {Promise<any>}  The kernel's ack; rejects with its nak.
   */
  request(op, payload = {}) {
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, since: Date.now() });
      this.#send({ op, id, ...payload });
      if (this.link === "closed") this.#settle(id, (who) => who.reject(new Error(GONE)));
      this.#arm();
    });
  }

  /**
   * @param {number|undefined} position
   * @returns {Promise<void>} When the entry at that place of the log is here.
   */
  holds(position) {
    return new Promise((done) => {
      if (position === undefined || this.have > position) return done();
      const off = this.subscribe(() => this.have > position && (off(), done()));
    });
  }

  /**
   * Say something that needs no answer.
   * @param {string} op
   * @param {Record<string, unknown>} payload
   */
  tell(op, payload) {
    this.#send({ op, id: ++this.number, ...payload });
  }

  /** @param {Record<string, unknown>} message */
  #send(message) {
    try {
      this.model.send(message);
    } catch {
      this.#setLink("closed"); // the comm went away under us
    }
  }

  /** @param {any} message */
  receive(message) {
    if (!message || typeof message !== "object") return;
    clearTimeout(this.probing);
    if (message.op === "bye") return clearTimeout(this.pulse), this.#setLink("closed");
    this.#listenOn();
    if (this.link === "closed") this.#setLink("ok");
    if (message.op === "delta") this.#delta(message);
    else if (message.op === "live") this.lives.take(message.rows ?? {});
    else if (message.op === "focus") (this.wanted = message.entry ?? null), this.#emit("focus");
    else if (message.op === "ack") this.#settle(message.id, (who) => who.resolve(message));
    else if (message.op === "nak") this.#settle(message.id, (who) => who.reject(new Error(String(message.error ?? "refused"))));
    this.#arm(true);
  }

  /** Whether entries are still to come. */
  #expects() {
    return this.link !== "closed" && (this.status === "running" || this.syncing > 0 || this.have < Number(this.model.get("rev") ?? 0));
  }

  /**
   * An answer without a place of its own goes on from the leaf; one whose place has not arrived yet waits for it.
   * @returns {boolean} True if the shape of the tree changed.
   */
  #showLive() {
    const { tree } = this;
    /** @type {import("./types.js").Row[]} */
    const rows = [];
    for (const [run, live] of this.lives.rows) {
      const parent = live.parent === undefined ? this.leaf : live.parent;
      if (tree.node(parent) >= 0) rows.push({ ...live, id: `${LIVE}${run}`, parent, type: "message", role: live.role ?? "assistant" });
    }
    return tree.setLive(rows);
  }

  /**
   * @param {number} id
   * @param {(who: {resolve: (answer: any) => void, reject: (reason: Error) => void}) => void} how
   */
  #settle(id, how) {
    const who = this.waiting.get(id);
    this.waiting.delete(id);
    if (who) how(who);
  }

  /** @param {Delta} delta */
  #delta(delta) {
    this.syncing = 0;
    this.again = 0;
    const fresh = delta.epoch !== this.epoch;
    if (fresh && delta.from > 0) return this.#restart(delta.epoch);
    if (fresh) this.#reset(delta.epoch);
    if (delta.from > this.have) return this.sync(); // something was lost in between
    const rows = delta.rows.slice(this.have - delta.from);
    this.tree.setLive([]);
    this.lives.arrived(rows);
    this.tree.append(rows);
    this.log.append(rows);
    this.have += rows.length;
    this.total = Math.max(delta.total ?? delta.to, this.have);
    this.#facts(delta);
    this.#showLive();
    this.#emit(fresh ? "reset" : "rows");
    if (this.have < this.total || Number(this.model.get("rev") ?? 0) > this.total) this.sync();
  }

  /** The question or its answer may have been lost: ask once more. */
  #askAgain() {
    this.again += 1;
    this.syncing = 0;
    this.sync();
  }

  /** @param {Delta} delta */
  #facts(delta) {
    this.leaf = delta.leaf;
    for (const [id, label] of Object.entries(delta.labels ?? {})) {
      if (label) this.labels.set(id, label);
      else this.labels.delete(id);
    }
    if (delta.status !== undefined) this.#setStatus(delta.status);
    if (delta.name !== undefined) this.name = delta.name;
    if (delta.session !== undefined) this.session = delta.session;
    if (delta.file !== undefined) this.file = delta.file;
  }

  /** @param {string} epoch */
  #reset(epoch) {
    this.epoch = epoch;
    this.tree = new Tree();
    this.log = new Log();
    this.history = new History(this.log);
    this.have = this.total = 0;
    this.labels.clear();
  }

  /** @param {string} epoch */
  #restart(epoch) {
    this.#reset(epoch);
    this.sync();
  }

  /** @param {Link} link */
  #setLink(link) {
    if (this.link === link) return;
    this.link = link;
    this.#emit("link");
    if (link !== "closed") return;
    this.#ended();
    const lost = [...this.waiting.values()];
    this.waiting.clear();
    for (const who of lost) who.reject(new Error(GONE));
  }

  /** The kernel has gone, and with it whatever ran there. */
  #ended() {
    this.lives.clear();
    this.tree.setLive([]);
    if (this.status === "running") this.#setStatus("idle");
    clearTimeout(this.pulse);
    this.#emit("rows");
  }

  /**
   * Look at how long the oldest question waits, now and again when that can have changed.
   * @param {boolean} [heard]  The kernel has just spoken.
   */
  #arm(heard = false) {
    clearTimeout(this.watch);
    if (this.link === "closed") return;
    const since = Math.min(this.syncing || Infinity, ...[...this.waiting.values()].map((who) => who.since));
    if (since === Infinity) return this.#setLink("ok");
    const age = Date.now() - since;
    this.#setLink(judged(age, heard ? "ok" : this.link));
    if (age < SILENT_AFTER) this.watch = setTimeout(() => this.#arm(), Math.max(20, (age < BUSY_AFTER ? BUSY_AFTER : SILENT_AFTER) - age));
    else if (this.syncing && this.again < PERSISTENT) this.#askAgain();
  }
}

/**
 * How the kernel is when its oldest question waits this long; a bad word is only taken back when it speaks.
 * @param {number} age  ms
 * @param {Link} before
 * @returns {Link}
 */
function judged(age, before) {
  if (age >= SILENT_AFTER || before === "silent") return "silent";
  return age >= BUSY_AFTER || before === "busy" ? "busy" : "ok";
}
