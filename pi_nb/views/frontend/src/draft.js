/**
 * What stands in the prompt box. Nothing that was typed is lost: what is sent is on its way, in sight, until the kernel
 * has it, and back in the box if the kernel will not have it; a text that a click brings does not take the place of one
 * that somebody wrote; and what was not said comes back. Pure.
 *
 * @typedef {{op: string, text: string}} Posted
 */

const KEPT = 5; // texts beside the box

export class Draft {
  constructor() {
    this.text = "";
    /** What a click has put into the box, as long as nobody has changed it. @type {string|null} */ this.offered = null;
    /** Texts beside the one in the box, newest last. @type {string[]} */ this.kept = [];
    /** What the kernel does not have yet, oldest first. @type {Posted[]} */ this.posted = [];
    /** Counts what the kernel has given back and is in the box. */ this.number = 0;
    /** @type {Set<() => void>} */ this.listeners = new Set();
  }

  /**
   * @param {() => void} listener  Called when the box has to show something else than what was typed into it.
   * @returns {() => void}
   */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  #tell() {
    for (const listener of [...this.listeners]) listener();
  }

  get empty() {
    return !this.text.trim();
  }

  /** @param {string} text */
  type(text) {
    if (text === this.text) return;
    this.text = text;
    this.offered = null;
    this.#tell();
  }

  /**
   * A click on a user's message brings its text; a click elsewhere takes away what nobody has touched.
   * @param {string|null} text
   */
  offer(text) {
    const mine = !this.empty && this.text !== this.offered;
    if (text && mine && text !== this.text) this.#keep(text);
    else if (!mine) (this.text = text ?? ""), (this.offered = text);
    this.#tell();
  }

  /** @param {string} text */
  #keep(text) {
    this.kept = [...this.kept.filter((other) => other !== text), text].slice(-KEPT);
  }

  /** Let the box and the text kept last change places. */
  swap() {
    const next = this.kept.pop();
    if (next === undefined) return;
    if (!this.empty) this.kept.unshift(this.text);
    this.text = next;
    this.offered = null;
    this.#tell();
  }

  /** Forget what stands beside the box. */
  drop() {
    this.kept = [];
    this.#tell();
  }

  /**
   * Send what is in the box; the next can be written at once.
   * @param {string} op
   * @returns {Posted}
   */
  post(op) {
    const posted = { op, text: this.text };
    this.posted.push(posted);
    this.text = "";
    this.offered = null;
    this.#tell();
    return posted;
  }

  /** The kernel has it. @param {Posted} posted */
  arrived(posted) {
    this.posted = this.posted.filter((other) => other !== posted);
    this.#tell();
  }

  /** The kernel will not have it, or is gone: it is in the box again. @param {Posted} posted */
  refused(posted) {
    this.posted = this.posted.filter((other) => other !== posted);
    this.#putInFront([posted.text]);
    this.#tell();
  }

  /** @param {string[]} texts */
  #putInFront(texts) {
    const rest = this.offered === null && !this.empty ? [this.text] : [];
    this.text = [...texts, ...rest].join("\n\n");
    this.offered = null;
  }

  /** All that would be lost with the page. */
  get unsaid() {
    return [...this.posted.map(({ text }) => text), ...(this.empty ? [] : [this.text])].join("\n\n");
  }

  /**
   * Put what was not said in front of what is in the box.
   * @param {string[]} texts
   * @param {number} number  Of this giving back; each is done once.
   * @returns {boolean} Whether it was done.
   */
  giveBack(texts, number) {
    if (!texts.length || number === this.number) return false;
    this.number = number;
    this.#putInFront(texts);
    this.#tell();
    return true;
  }
}

const PREFIX = "pi-nb-draft:";

/**
 * Keep a draft over a reload of the page, for this tab; where the browser allows that.
 * @param {Draft} draft
 * @param {string} session
 * @returns {() => void}
 */
export function remember(draft, session) {
  const store = storage();
  if (!store) return () => {};
  const name = `${PREFIX}${session}`;
  const before = store.getItem(name);
  if (before && draft.empty) draft.type(before);
  return draft.subscribe(() => {
    try {
      if (draft.unsaid) store.setItem(name, draft.unsaid);
      else store.removeItem(name);
    } catch {
      // no room: it is in the box all the same
    }
  });
}

function storage() {
  try {
    return globalThis.sessionStorage ?? null;
  } catch {
    return null;
  }
}
