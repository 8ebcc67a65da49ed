/** Punctuation in phonemes. Every other symbol except the space belongs to a word. */
export const MARKS = new Set(';:,.!?—…"()“”«»¡¿');
