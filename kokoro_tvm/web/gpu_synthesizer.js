/** A synthesizer of a site with two bundles: one for WebGPU, and one for WebAssembly alone, which computes where a GPU does not. */

import { BUNDLE, BundleSynthesizer } from "./bundle_synthesizer.js";

const ON_GPU = "bundle-gpu/"; // beside the page

/**
 * Loading one of them begins at once.
 *
 * @param {string} base the page's address
 * @param {import("./bundle_synthesizer.js").Opening} [options]
 * @returns {Promise<BundleSynthesizer>}
 */
export async function open(base, options) {
  return new BundleSynthesizer(new URL(BUNDLE, base), { ...options, gpu: new URL(ON_GPU, base) });
}
