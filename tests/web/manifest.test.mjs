/** The layout of bundle.json. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkManifest } from "../../kokoro_tvm/web/runtime/manifest.js";

const file = { file: "x", size: 1, sha256: "0" };
const port = { name: "x", dtype: "float32", shape: [1, "2*F"] };
const component = {
  axis: "tokens", function: "f", libraries: [{ ...file, bucket: 16 }], inputs: [port], parameters: [port], weights: file,
};
const newManifest = () => JSON.parse(JSON.stringify({
  schema: 5, length: "exact", cpu_features: ["simd128"], sample_rate: 24000, samples_per_frame: 600, style_dim: 4,
  vocabulary: { a: 1 }, runtime: file, voices: file, text: file, front_end: file, golden: null, languages: { a: { name: "x" } },
  components: {
    bert: component, duration: component, text_encoder: component, f0n: component,
    decoder: { ...component, seeded: { function: "f", inputs: [port] } },
  },
}));

/** Yield [place, container, key] of every value of a JSON tree. */
function* places(node, place) {
  for (const key of Object.keys(node)) {
    const inner = Array.isArray(node) ? `${place}[${key}]` : `${place}: ${key}`;
    yield [inner, node, key];
    if (node[key] && typeof node[key] === "object") yield* places(node[key], inner);
  }
}
const COUNT = [...places(newManifest(), "bundle.json")].length;

test("checkManifest accepts a complete manifest", () => checkManifest(newManifest()));

test("checkManifest names the place of a wrong type", () => {
  for (let number = 0; number < COUNT; number++) {
    for (const wrong of [true, [{}], -1]) {
      const manifest = newManifest();
      const [place, container, key] = [...places(manifest, "bundle.json")][number];
      container[key] = wrong;
      assert.throws(() => checkManifest(manifest), (error) => error.name === "BundleError" && error.message.includes(place));
    }
  }
});

test("checkManifest names a missing field unless it is optional", () => {
  const optional = new Set(["text", "front_end", "golden", "languages", "kernels"]);
  for (let number = 0; number < COUNT; number++) {
    const manifest = newManifest();
    const [place, container, key] = [...places(manifest, "bundle.json")][number];
    if (Array.isArray(container) || optional.has(key) || /: (vocabulary|languages): .$/.test(place)) continue;
    delete container[key];
    const message = `${place.slice(0, place.lastIndexOf(": "))} lacks '${key}'. `;
    assert.throws(() => checkManifest(manifest), (error) => error.name === "BundleError" && error.message.startsWith(message));
  }
});

test("checkManifest refuses other JSON", () => {
  for (const manifest of [null, 5, [], "x"]) assert.throws(() => checkManifest(manifest), { name: "BundleError" });
});
