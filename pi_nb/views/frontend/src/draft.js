/**
 * What stands in the prompt box. Nothing that was typed is lost: it leaves the box only when the kernel has it, a text
 * that a click brings does not take the place of one that somebody wrote, and what was not said comes back. Pure.
 */

const KEPT = 5; // texts beside the box

export class Draft {
  constructor() {
    this.text = "";
    /** What a click has put into the box, as long as nobody has changed it. @type {string|null} */ this.offered = null;
    /** Texts beside the one in the box, newest last. @type {string[]} */ this.kept = [];
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

  /** The kernel has this text. @param {string} text */
  sent(text) {
    if (this.text !== text) return;
    this.text = "";
    this.offered = null;
    this.#tell();
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
    const rest = this.offered === null && !this.empty ? [this.text] : [];
    this.text = [...texts, ...rest].join("\n\n");
    this.offered = null;
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
      if (draft.empty) store.removeItem(name);
      else store.setItem(name, draft.text);
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
