import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, events } from "../../kokoro_tvm/web/sse.js";
import { draws } from "./draws.mjs";

const streamOf = (pieces) =>
  new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
const parsed = (pieces) => {
  const parser = new EventParser();
  return pieces.flatMap((piece) => parser.push(piece));
};

test("push joins the data lines of an event", () => {
  assert.deepEqual(parsed(["data: one\n\ndata:two\ndata:  three\n\n"]), ["one", "two\n three"]);
});

test("push ignores comments and incomplete events", () => {
  assert.deepEqual(parsed([": a comment\n\nevent: x\nid: 1\nretry: 5\n\ndata\n\ndatabase: no\n\ndata: late\n"]), [""]);
});

test("push does not depend on the division of lines", () => {
  const draw = draws(1);
  for (let round = 0; round < 500; round++) {
    const requested = Array.from({ length: draw.below(6) }, () =>
      Array.from({ length: 1 + draw.below(3) }, () => draw.pick(["", "x", "{\"a\": 1}", "naïve 心 😀"])).join("\n"),
    );
    const written = requested
      .map((data) => {
        const end = draw.pick(["\n", "\r\n", "\r"]);
        return data.split("\n").map((line) => `data: ${line}${end}`).join("") + end;
      })
      .join("");
    assert.deepEqual(parsed(draw.pieces(written, 1 + draw.below(12))), requested);
  }
});

test("events decodes bytes that divide characters", async () => {
  const draw = draws(2);
  const bytes = new TextEncoder().encode('data: {"word": "心😀"}\r\n\r\ndata: two\n\n');
  for (let round = 0; round < 100; round++) {
    const result = [];
    for await (const data of events(streamOf(draw.pieces(bytes, 5)))) result.push(data);
    assert.deepEqual(result, ['{"word": "心😀"}', "two"]);
  }
});

test("events cancels a stream without a reader", async () => {
  let cancelled = false;
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: again\n\n")),
    cancel: () => void (cancelled = true),
  });
  for await (const data of events(body)) {
    assert.equal(data, "again");
    break;
  }
  assert.ok(cancelled);
});
