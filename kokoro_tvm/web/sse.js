/** Parser of server-sent events in pieces of any size. Source: WHATWG, HTML, 9.2.6. */

const LINE_END = /\r\n|\n|\r/g;

/** Parser of a stream of characters; its result does not depend on the pieces. */
export class EventParser {
  #line = ""; // the incomplete line
  #data = /** @type {string[]} */ ([]);
  #afterReturn = false; // the last character was a carriage return, to which a line feed belongs

  /**
   * @param {string} text the next characters
   * @returns {string[]} the data of the events that they complete
   */
  push(text) {
    if (!text) return [];
    const events = [];
    let start = this.#afterReturn && text.startsWith("\n") ? 1 : 0;
    this.#afterReturn = text.endsWith("\r");
    LINE_END.lastIndex = start;
    for (let end = LINE_END.exec(text); end; end = LINE_END.exec(text)) {
      const event = this.#take(this.#line + text.slice(start, end.index));
      if (event !== null) events.push(event);
      this.#line = "";
      start = LINE_END.lastIndex;
    }
    this.#line += text.slice(start);
    return events;
  }

  /** @param {string} line @returns {string | null} */
  #take(line) {
    if (line === "") {
      const data = this.#data;
      this.#data = [];
      return data.length ? data.join("\n") : null;
    }
    if (line.startsWith("data:")) this.#data.push(line.slice(line[5] === " " ? 6 : 5));
    else if (line === "data") this.#data.push("");
    return null; // comments, `event`, `id` and `retry` have no meaning here
  }
}

/**
 * @param {ReadableStream<Uint8Array>} body UTF-8
 * @returns {AsyncGenerator<string>} the data of each event; the stream is cancelled when nobody reads on
 */
export async function* events(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    await reader.cancel().catch(() => {}); // if the stream failed, the failure is known already
  }
}
