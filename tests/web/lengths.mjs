/* Speaks utterances of so many frames with the modules of a page: node lengths.mjs WEB BUNDLE FRAMES..., which prints
 * how many bytes of weights the bundle has, and how many the runtime's memory has after each. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [web, folder, ...lengths] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(join(web, 'runtime', name)));
const { Bundle } = await load('bundle.js');
const { Folder, below } = await load('folder.js');
const { Model } = await load('model.js');

const bundle = await Bundle.open(new Folder(below(pathToFileURL(`${folder}/`))));
const model = new Model(bundle);
const style = new Float32Array(2 * bundle.manifest.style_dim);
const sizes = [Object.values(bundle.manifest.components).reduce((sum, { weights }) => sum + weights.size, 0)];
for (const length of lengths) {
  const tokens = [0, ...Array(18).fill(50), 0];
  const frames = tokens.map(() => Math.round(Number(length) / tokens.length));
  const { features } = await model.predict(tokens, style);
  await model.decode(tokens, style, frames, features, Uint32Array.from([0, 0, 0]));
  sizes.push(bundle.memory);
}
console.log(JSON.stringify(sizes));
