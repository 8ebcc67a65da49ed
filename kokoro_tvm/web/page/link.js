/** A request as a fragment of the page's address, which is not sent to any server. */

/** @typedef {import("./speaker.js").Request} Request */

export const SLOWEST = 0.5;
export const FASTEST = 2;

/** @param {Request} request @returns {string} `#text=…&voice=…&speed=…&lang=…&plain=1` */
export function toFragment({ text, voice, speed, lang, plain }) {
  return `#${new URLSearchParams({
    text, voice, ...(speed === 1 ? {} : { speed: String(speed) }), ...(lang ? { lang } : {}), ...(plain ? { plain: "1" } : {}),
  })}`;
}

/** @param {string} fragment @returns {Partial<Request>} what of it can be used */
export function fromFragment(fragment) {
  const found = new URLSearchParams(fragment.replace(/^#/, ""));
  const speed = found.has("speed") ? Number(found.get("speed")) : Number.NaN;
  return {
    ...(found.get("text") ? { text: /** @type {string} */ (found.get("text")) } : {}),
    ...(found.get("voice") ? { voice: /** @type {string} */ (found.get("voice")) } : {}),
    ...(speed >= SLOWEST && speed <= FASTEST ? { speed } : {}),
    ...(found.get("lang") ? { lang: /** @type {string} */ (found.get("lang")) } : {}),
    ...(found.get("plain") === "1" ? { plain: true } : {}),
  };
}
