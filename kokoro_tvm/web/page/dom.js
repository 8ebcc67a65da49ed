/** @template {HTMLElement} T @param {string} id @returns {T} */
export function byId(id) {
  const match = document.getElementById(id);
  if (!match) throw new Error(`The page has no element #${id}.`);
  return /** @type {T} */ (match);
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {Record<string, string>} attributes @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes, ...children) {
  const result = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) result.setAttribute(name, value);
  result.append(...children);
  return result;
}

/** @param {string} name of a symbol of the page @returns {SVGSVGElement} */
export function icon(name) {
  const [svg, use] = ["svg", "use"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  setIcon(svg, name);
  return /** @type {SVGSVGElement} */ (svg);
}

/** @param {Element} within @param {string} name */
export function setIcon(within, name) {
  within.querySelector("use")?.setAttribute("href", `#i-${name}`);
}
