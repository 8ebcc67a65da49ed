/** Synthesizer of a site with two bundles: one for WebGPU, and one for WebAssembly as a fallback. */

import { BUNDLE, BundleSynthesizer } from "./bundle_synthesizer.js";

const ON_GPU = "bundle-gpu/"; // relative to the page

/**
 * Open the site's bundles. Loading begins at once.
 * @param {string} base the page's address
 * @param {import("./bundle_synthesizer.js").Opening} [options]
 * @returns {Promise<BundleSynthesizer>}
 */
export async function open(base, options) {
  return new BundleSynthesizer(new URL(BUNDLE, base), { ...options, gpu: new URL(ON_GPU, base) });
}
