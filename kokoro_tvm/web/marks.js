/** Symbols of a string of phonemes that are punctuation; whatever else is not a space belongs to a word. */
export const MARKS = new Set(';:,.!?—…"()“”«»¡¿');
