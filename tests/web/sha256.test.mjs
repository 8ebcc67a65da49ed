import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { Sha256, newSha256 } from "../../kokoro_tvm/web/runtime/sha256.js";

const hex = (bytes) => createHash("sha256").update(bytes).digest("hex");
const BYTES = Uint8Array.from({ length: 300 }, (_, place) => place * place);

test("hex equals OpenSSL's digest around block lengths", () => {
  for (let length = 0; length <= BYTES.length; ++length) {
    const digest = new Sha256();
    digest.update(BYTES.subarray(0, length));
    assert.equal(digest.hex(), hex(BYTES.subarray(0, length)), `${length} bytes`);
  }
});

test("update accepts bytes in any pieces", async () => {
  for (const digest of [new Sha256(), await newSha256()]) {
    let at = 0;
    for (const size of [0, 1, 62, 1, 64, 65, 100]) digest.update(BYTES.subarray(at, (at += size)));
    assert.equal(digest.hex(), hex(BYTES.subarray(0, at)));
  }
});

test("hex counts more than 2^32 bits", () => {
  const digest = new Sha256();
  const expected = createHash("sha256");
  const part = new Uint8Array(1 << 25);
  for (let count = 0; count < 17; ++count) {
    digest.update(part);
    expected.update(part);
  }
  assert.equal(digest.hex(), expected.digest("hex"));
});
