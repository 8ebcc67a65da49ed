/** The fields of bundle.json that pages read, with their types. */

import { BundleError } from '../errors.js';
import { truncate } from '../notices.js';

/** Schema of bundle.json that this version reads. */
const SCHEMA = 5;

const MEND = 'Build the bundle again, or copy it again from where it was built.';
/** Type -> test, and the type in words. */
const TYPES = {
  text: [(value) => typeof value === 'string', 'a text'],
  whole: [(value) => Number.isSafeInteger(value) && value >= 0, 'a whole number'],
  positive: [(value) => Number.isSafeInteger(value) && value > 0, 'a whole number above 0'],
  axis: [(value) => value === 'tokens' || value === 'frames', "'tokens' or 'frames'"],
  extent: [(value) => typeof value === 'string' || (Number.isSafeInteger(value) && value >= 0), 'an extent'],
};
// A layout is a type, [layout of the items], {field: layout} or {'*': layout of all values}; `field?` may be missing or null.
const FILE = { file: 'text', size: 'whole', sha256: 'text' };
const PORTS = [{ name: 'text', dtype: 'text', shape: ['extent'] }];
const COMPONENT = {
  axis: 'axis',
  function: 'text',
  libraries: [{ ...FILE, bucket: 'positive', 'kernels?': FILE }],
  inputs: PORTS,
  parameters: PORTS,
  weights: FILE,
};
const MANIFEST = {
  cpu_features: ['text'],
  sample_rate: 'positive',
  samples_per_frame: 'positive',
  style_dim: 'positive',
  vocabulary: { '*': 'whole' },
  runtime: FILE,
  voices: FILE,
  'text?': FILE,
  'front_end?': FILE,
  'golden?': FILE,
  'languages?': { '*': { name: 'text' } },
  components: {
    bert: COMPONENT,
    duration: COMPONENT,
    text_encoder: COMPONENT,
    f0n: COMPONENT,
    decoder: { ...COMPONENT, seeded: { function: 'text', inputs: PORTS } },
  },
};

/** Check the fields that pages read. Throws a BundleError that names the first wrong one. @param {any} manifest */
export function checkManifest(manifest) {
  check(manifest, { schema: 'whole', length: 'text' }, 'bundle.json');
  const { schema, length } = manifest;
  if (schema !== SCHEMA) {
    throw new BundleError(`bundle.json has schema ${schema}; this version reads ${SCHEMA}. Build the bundle again.`);
  }
  if (length !== 'exact') throw new BundleError(`the bundle has ${truncate(length)} lengths; exact ones are read alone`);
  check(manifest, MANIFEST, 'bundle.json');
}

/** Compare a value with a layout. @param {any} value @param {any} layout @param {string} place */
function check(value, layout, place) {
  if (typeof layout === 'string') {
    const [isOf, words] = TYPES[layout];
    if (!isOf(value)) throw new BundleError(`${place} should be ${words}. ${MEND}`);
  } else if (Array.isArray(layout)) {
    if (!Array.isArray(value)) throw new BundleError(`${place} should be a list. ${MEND}`);
    value.forEach((item, index) => check(item, layout[0], `${place}[${index}]`));
  } else {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new BundleError(`${place} should be a JSON object. ${MEND}`);
    }
    if ('*' in layout) layout = Object.fromEntries(Object.keys(value).map((key) => [key, layout['*']]));
    for (const [field, inner] of Object.entries(layout)) {
      const key = field.replace(/\?$/, '');
      const isMissing = !Object.hasOwn(value, key);
      if (field !== key && (isMissing || value[key] === null)) continue;
      if (isMissing) throw new BundleError(`${place} lacks '${key}'. ${MEND}`);
      check(value[key], inner, `${place}: ${key}`);
    }
  }
}
