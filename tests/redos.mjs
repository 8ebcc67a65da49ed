// Checks regular expressions with recheck: those of standard input, and those of the JavaScript modules of a
// folder. node --expose-internals redos.mjs RECHECK FOLDER < PATTERNS.json; prints the vulnerable ones as JSON.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const { parse } = require("internal/deps/acorn/acorn/dist/acorn"); // Node's own parser
const [recheck, folder] = process.argv.slice(2);
const { checkSync } = require(recheck);
const patterns = JSON.parse(readFileSync(0, "utf8"));

function* literals(node) {
  if (node?.regex) yield node.regex;
  if (node && typeof node === "object") for (const child of Object.values(node)) yield* literals(child);
}

let place;
const NativeRegExp = RegExp;
globalThis.RegExp = class extends NativeRegExp {
  constructor(source, flags = "") {
    super(source, flags);
    if (typeof source === "string") patterns.push({ place, source, flags });
  }
};
for (const name of readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".js")).sort()) {
  place = `web/${name}`;
  const text = readFileSync(join(folder, name), "utf8");
  for (const { pattern, flags } of literals(parse(text, { ecmaVersion: "latest", sourceType: "module" })))
    patterns.push({ place, source: pattern, flags });
  if (/^(?:export )?const .*new RegExp\(/m.test(text)) await import(pathToFileURL(join(folder, name)).href);
}
globalThis.RegExp = NativeRegExp;

// No timeout: the result must not depend on the load of the machine.
const seen = new Map(patterns.map((pattern) => [`${pattern.source}/${pattern.flags}`, pattern]));
const results = [...seen.values()].map((pattern) => ({ ...pattern, ...checkSync(pattern.source, pattern.flags, { timeout: null }) }));
const report = results.filter(({ status }) => status !== "safe").map(({ place, source, status, complexity }) => ({ place, source, status, complexity: complexity?.summary }));
console.log(JSON.stringify({ checked: results.length, report }));
