/** The still picture of a tree, which stands beside the live view for readers without a kernel. */

/**
 * Hide the picture wherever it stands in this page. A style of the page does it, because a front end may draw the
 * picture anew at any time.
 * @param {unknown} key  The view's own.
 * @returns {() => void} Shows it again.
 */
export function hideStill(key) {
  if (typeof key !== "string" || !/^\w+$/.test(key)) return () => {};
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`.pi-nb-still-${key}{display:none!important}`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  return () => void (document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet));
}
