/**
 * The live tree of a session, as an anywidget module. `initialize` makes one store per model, `render` one view per
 * place it is shown in; both take everything away again when their signal aborts or their cleanup is called.
 */

import { Store } from "./store.js";
import { View } from "./view.js";

/**
 * @typedef {import("./types.js").Model} Model
 * @typedef {{store: Store, users: number}} Shared
 */

/** By the widget's own key: the host hands out another proxy of the model each time. @type {Map<unknown, Shared>} */
const stores = new Map();

/**
 * @param {Model} model
 * @returns {{store: Store, giveBack: () => void}} The last one to give it back closes the store.
 */
function borrow(model) {
  const key = model.get("key") ?? model;
  const shared = stores.get(key) ?? { store: new Store(model), users: 0 };
  stores.set(key, shared);
  shared.users += 1;
  let done = false;
  const giveBack = () => {
    if (done) return;
    done = true;
    shared.users -= 1;
    if (shared.users > 0) return;
    shared.store.close();
    stores.delete(key);
  };
  return { store: shared.store, giveBack };
}

/**
 * @param {() => void} cleanup
 * @param {AbortSignal|undefined} signal  Older anywidgets give none; they call the cleanup.
 */
function until(cleanup, signal) {
  if (signal?.aborted) cleanup();
  else signal?.addEventListener("abort", cleanup, { once: true });
  return cleanup;
}

/** @param {{model: Model, signal?: AbortSignal}} props */
function initialize({ model, signal }) {
  return until(borrow(model).giveBack, signal);
}

/** @param {{model: Model, el: HTMLElement, signal?: AbortSignal}} props */
function render({ model, el, signal }) {
  const { store, giveBack } = borrow(model);
  const view = new View(store, el);
  store.sync();
  return until(() => {
    view.close();
    giveBack();
  }, signal);
}

export default { initialize, render };
