/** Light or dark: what the host's theme says, else what the system says. */

/**
 * Keep `pt-night` on the root while it stands on a dark ground.
 * @param {HTMLElement} root
 * @returns {{look: () => void, stop: () => void}} `look` is to be called when the root has got its place in the page.
 */
export function followTheme(root) {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const look = () => root.classList.toggle("pt-night", isDark(hostGround(root), system.matches));
  const watch = new MutationObserver(look);
  const attributes = { attributes: true, attributeFilter: ["class", "style", "data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind"] };
  for (const el of [document.documentElement, document.body]) watch.observe(el, attributes);
  system.addEventListener("change", look);
  look();
  const stop = () => {
    watch.disconnect();
    system.removeEventListener("change", look);
  };
  return { look, stop };
}

/**
 * The host's ground colour; empty when it has no theme of its own.
 * @param {HTMLElement} root
 */
function hostGround(root) {
  const style = getComputedStyle(root);
  const named = style.getPropertyValue("--jp-layout-color1").trim() || style.getPropertyValue("--vscode-editor-background").trim();
  if (!named) return "";
  const probe = document.createElement("span");
  probe.style.backgroundColor = named; // the browser turns any notation into rgb()
  root.append(probe);
  const ground = getComputedStyle(probe).backgroundColor;
  probe.remove();
  return ground;
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
