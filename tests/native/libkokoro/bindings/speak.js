// Speaks from Node: ADDON BUNDLE PHONEMES VOICE SPEED SEED OUT, a file of float32 numbers.
const fs = require("fs");
const [addon, bundle, phonemes, voice, speed, seed, out] = process.argv.slice(2);
const { audio, words } = require(addon).speak(bundle, phonemes, voice, Number(speed), Number(seed));
fs.writeFileSync(out, Buffer.from(audio.buffer));
for (const { text, start, end } of words) console.log(`${start} ${end} ${text}`);
