import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { otherLanguage } from "../../kokoro_tvm/web/page/language.js";

const TEXTS = {
  a: ["Hello, how are you?", "Au revoir, mes amis, he said, and left the room.", "He walked to the end of the street."],
  e: ["Hola, ¿cómo está usted?", "El perro y el gato viven en la casa.", "Buenos días a todos los amigos."],
  f: ["Bonjour, je m'appelle Marie et je suis très contente.", "Le chat est sur la table.", "C'est la vie."],
  h: ["नमस्ते दुनिया, आप कैसे हैं?"],
  i: ["Ciao, come stai? Io sono molto felice.", "La vita è bella per tutti.", "Mi chiamo Luca e sono di Roma."],
  j: ["こんにちは。お元気ですか。", "東京は日本の首都です。"],
  p: ["Olá, você está bem?", "O gato está em cima da mesa.", "Eu não sei o que fazer com isso."],
  z: ["你好，世界。今天天气很好。"],
};
const cases = Object.entries(TEXTS).flatMap(([code, texts]) => texts.map((text) => [code, text]));

for (const [code, text] of cases) {
  test(`otherLanguage recognizes ${code}: ${text}`, () => {
    for (const voice of Object.keys(TEXTS)) {
      const isSilent = voice === code || (code === "z" && voice === "j"); // Japanese can be Han alone
      assert.equal(otherLanguage(text, voice), isSilent ? "" : code, voice);
    }
  });
}

test("otherLanguage is silent about British voices for English, and about short and foreign-looking English", () => {
  for (const text of ["The man and the dog are here.", "De la Cruz et al. show this in vitro.", "He said no, no, no.", "Come on, do as I say!", "Los Angeles", "A per se example; e.g. a no-no.", "世 is a character in this text.", "", "1984"]) {
    assert.equal(otherLanguage(text, "b"), "", text);
  }
});

test("otherLanguage takes text in Han alone for Japanese if the voice is", () => {
  assert.equal(otherLanguage("東京都", "j"), "");
  assert.equal(otherLanguage("東京都", "a"), "z");
});

test("otherLanguage is silent about languages that are not Kokoro's", () => {
  const english = { name: "American English", tag: "en-US", sample: "" };
  const german = new Map([["d", { name: "German", tag: "de", sample: "" }], ["a", english]]);
  assert.equal(otherLanguage("Hello, how are you?", "d", german), "");
  assert.equal(otherLanguage("Le chat est sur la table.", "a", german), "");
  assert.equal(otherLanguage("Le chat est sur la table.", "a", new Map([["a", english], ["f", { ...english, name: "Finnish" }]])), "");
});

test("otherLanguage is silent about every English sentence of the project", async () => {
  const file = new URL("../../kokoro_tvm/validation/reference/sentences.txt", import.meta.url);
  const sentences = (await readFile(file, "utf8")).split("\n").filter((line) => line && !line.startsWith("#"));
  assert.ok(sentences.length > 2000);
  assert.deepEqual(sentences.filter((sentence) => otherLanguage(sentence, "a")), []);
});
