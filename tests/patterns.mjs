// Every regular expression of JavaScript modules, as JSON: what stands between slashes, and what RegExp is
// given. node --expose-internals patterns.mjs FOLDER, which is a copy: modules are run with a few lines more.
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, sep } from "node:path";
import { pathToFileURL } from "node:url";

const { parse } = createRequire(import.meta.url)("internal/deps/acorn/acorn/dist/acorn"); // the parser Node has
const folder = process.argv[2];
const BY_TEXT = ["match", "matchAll", "search"];

/** All nodes of a tree, each with those around it. */
function* nodes(node, around = []) {
  if (Array.isArray(node)) for (const each of node) yield* nodes(each, around);
  else if (node && typeof node.type === "string") {
    yield [node, around];
    for (const each of Object.values(node)) if (typeof each === "object") yield* nodes(each, [node, ...around]);
  }
}

globalThis.found = [];
globalThis.errors = [];
globalThis.note = (about, make) => {
  try {
    const [source, flags = ""] = make();
    found.push({ ...about, source: source.source ?? source, flags: source.flags ?? flags });
  } catch (error) {
    errors.push({ ...about, reason: String(error) });
  }
};

const modules = [];
for (const name of readdirSync(folder, { recursive: true }).filter((name) => /\.m?js$/.test(name)).sort()) {
  const text = readFileSync(join(folder, name), "utf8");
  const all = [...nodes(parse(text, { ecmaVersion: "latest", sourceType: "module" }))];
  let added = "";
  for (const [node, around] of all) {
    const place = `web/${name.split(sep).join("/")}:${text.slice(0, node.start).split("\n").length}`;
    const callee = ["NewExpression", "CallExpression"].includes(node.type) ? node.callee : undefined;
    if (node.regex) found.push({ place, source: node.regex.pattern, flags: node.regex.flags });
    if (callee?.name === "RegExp") {
      const given = text.slice(node.arguments[0].start, node.arguments.at(-1).end);
      added += `\nnote(${JSON.stringify({ place, given })}, () => [${given}]);`;
    }
    const [parameter] = node.arguments ?? [];
    const isText = parameter?.type === "TemplateLiteral" || typeof parameter?.value === "string";
    if (BY_TEXT.includes(callee?.property?.name) && isText) errors.push({ place, reason: "a pattern that is a text" });
    const known = around[0]?.callee === node || /^(Import|Export|Class)/.test(around[0]?.type) || around[0]?.type === "BinaryExpression";
    if (node.name === "RegExp" && !known) errors.push({ place, reason: "RegExp is handed on" });
  }
  if (added) {
    appendFileSync(join(folder, name), added);
    modules.push(name);
  }
}
for (const name of modules) await import(pathToFileURL(join(folder, name)).href);
console.log(JSON.stringify({ found, errors }));
