/** A request as a fragment of the page's address, which is not sent to any server. */

/** @typedef {import("./speaker.js").Request} Request */

export const SLOWEST = 0.5;
export const FASTEST = 2;

/** @param {Request} request @returns {string} `#text=…&voice=…&speed=…&lang=…&plain=1&prose=1` */
export function toFragment({ text, voice, speed, lang, plain, prose }) {
  return `#${new URLSearchParams({
    text, voice, ...(speed === 1 ? {} : { speed: String(speed) }), ...(lang ? { lang } : {}), ...(plain ? { plain: "1" } : {}),
    ...(prose ? { prose: "1" } : {}),
  })}`;
}

/** @param {string} fragment @returns {Partial<Request>} what of it can be used */
export function fromFragment(fragment) {
  const result = new URLSearchParams(fragment.replace(/^#/, ""));
  const speed = result.has("speed") ? Number(result.get("speed")) : Number.NaN;
  return {
    ...(result.get("text") ? { text: /** @type {string} */ (result.get("text")) } : {}),
    ...(result.get("voice") ? { voice: /** @type {string} */ (result.get("voice")) } : {}),
    ...(speed >= SLOWEST && speed <= FASTEST ? { speed } : {}),
    ...(result.get("lang") ? { lang: /** @type {string} */ (result.get("lang")) } : {}),
    ...(result.get("plain") === "1" ? { plain: true } : {}),
    ...(result.get("prose") === "1" ? { prose: true } : {}),
  };
}
