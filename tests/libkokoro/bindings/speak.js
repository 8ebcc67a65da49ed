// Speaks from Node: ADDON BUNDLE PHONEMES VOICE SPEED NOISE OUT, files of float32 numbers.
const fs = require("fs");
const [addon, bundle, phonemes, voice, speed, noise, out] = process.argv.slice(2);
const bytes = fs.readFileSync(noise);
const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const { audio, words } = require(addon).speak(bundle, phonemes, voice, Number(speed), numbers);
fs.writeFileSync(out, Buffer.from(audio.buffer));
for (const { text, start, end } of words) console.log(`${start} ${end} ${text}`);
