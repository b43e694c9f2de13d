/** Light or dark, and how much contrast: what the host's theme says, else what the system says. */

const NAMES = /high[ -]?contrast/i;

/**
 * Keep `pt-night` on the root while it stands on a dark ground, `pt-stark` while more contrast is wanted.
 * @param {HTMLElement} root
 * @returns {{look: () => void, stop: () => void}} `look` is to be called when the root has got its place in the page.
 */
export function followTheme(root) {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const more = window.matchMedia("(prefers-contrast: more)");
  const look = () => {
    root.classList.toggle("pt-night", isDark(hostGround(root), dark.matches));
    root.classList.toggle("pt-stark", more.matches || NAMES.test(hostName()));
  };
  const watch = new MutationObserver(look);
  const attributes = { attributes: true, attributeFilter: ["class", "style", "data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind"] };
  for (const el of [document.documentElement, document.body]) watch.observe(el, attributes);
  const asked = [dark, more];
  for (const query of asked) query.addEventListener("change", look);
  look();
  const stop = () => {
    watch.disconnect();
    for (const query of asked) query.removeEventListener("change", look);
  };
  return { look, stop };
}

/** What JupyterLab and VS Code call their theme. */
function hostName() {
  const { jpThemeName, vscodeThemeKind } = document.body.dataset;
  return `${jpThemeName ?? ""} ${vscodeThemeKind ?? ""} ${document.body.className}`;
}

/**
 * The host's ground colour: named by its theme, else that of what the root stands on; empty when there is none.
 * @param {HTMLElement} root
 */
function hostGround(root) {
  const style = getComputedStyle(root);
  const named = style.getPropertyValue("--jp-layout-color1").trim() || style.getPropertyValue("--vscode-editor-background").trim();
  if (!named) return groundBelow(root);
  const probe = document.createElement("span");
  probe.style.backgroundColor = named; // the browser turns any notation into rgb()
  root.append(probe);
  const ground = getComputedStyle(probe).backgroundColor;
  probe.remove();
  return ground;
}

/** @param {HTMLElement} root */
function groundBelow(root) {
  for (let el = above(root); el; el = above(el)) {
    const ground = getComputedStyle(el).backgroundColor;
    if (/^rgb\(/.test(ground)) return ground; // rgba(…) is see-through
  }
  return "";
}

/**
 * The element that another stands in, out of a shadow tree too.
 * @param {Element} el
 * @returns {Element|null}
 */
function above(el) {
  const root = el.getRootNode();
  return el.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

/**
 * @param {string} ground  rgb(…), or empty.
 * @param {boolean} system
 */
export function isDark(ground, system) {
  const [red, green, blue] = (ground.match(/[\d.]+/g) ?? []).map(Number);
  if (blue === undefined) return system;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
}
