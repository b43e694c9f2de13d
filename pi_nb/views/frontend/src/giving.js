/** Handing something to the user: text for the clipboard, a file to keep. */

import { h } from "./dom.js";

/**
 * Copy a text, in whichever way the page may.
 * @param {string} text
 * @param {HTMLElement} place  Where an element may stand for a moment.
 * @returns {Promise<boolean>}
 */
export async function copy(text, place) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOld(text, place);
  }
}

/**
 * The way before there was a clipboard to ask for, which pages inside others may still go.
 * @param {string} text
 * @param {HTMLElement} place
 */
function copyOld(text, place) {
  const before = document.activeElement;
  const area = h("textarea", { class: "pt-offstage", tabindex: "-1", "aria-hidden": "true" });
  area.value = text;
  place.append(area);
  area.select();
  let done = false;
  try {
    done = document.execCommand("copy");
  } catch {
    // not allowed either
  }
  area.remove();
  if (before instanceof HTMLElement) before.focus({ preventScroll: true });
  return done;
}

/**
 * @param {string} base64
 * @returns {Uint8Array}
 */
const bytes = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/**
 * Fetch a compressed page part by part.
 * @param {(part: number, token: string) => Promise<{name: string, parts: number, token: string, data: string}>} ask
 * @param {(share: number) => void} tell  How much of it is here, from 0 to 1.
 * @returns {Promise<{name: string, page: Blob}>}
 */
export async function fetchPage(ask, tell) {
  const pieces = [];
  let name = "";
  let token = ""; // of this page: another may be fetched at the same time
  for (let part = 0, parts = 1; part < parts; part++) {
    const answer = await ask(part, token);
    ({ name, parts, token } = answer);
    pieces.push(bytes(answer.data));
    tell(pieces.length / parts);
    if (part + 1 < parts) await new Promise((done) => setTimeout(done, 400)); // Jupyter drops what comes too fast
  }
  const packed = new Blob(/** @type {BlobPart[]} */ (pieces)).stream();
  const text = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).blob();
  return { name, page: new Blob([text], { type: "text/html" }) };
}

/**
 * @param {Blob} page
 * @param {string} name
 */
export function download(page, name) {
  const address = URL.createObjectURL(page);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
