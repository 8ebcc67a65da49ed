/* From a passage of a text to the words of its sentences (runtime/speech/sentences.py, runtime/text/reading.py). */
#ifndef KOKORO_SENTENCES_H
#define KOKORO_SENTENCES_H

#include "speech.h"

/* The sentences of a passage, which begins at `offset` of the text and is ended by `ends`. */
breath_list read_sentences(work *w, const reader *r, string text, size_t offset, boundary ends, notes *notices);
/* The utterances of a passage that have phonemes; notices say what else was there. Fails with KOKORO_INPUT where it cannot
 * be spoken. */
utterances read_passage(work *w, const reader *r, const source *from, notes *notices);
/* The beginning of a text as a message shows it: in one line, of `most` characters. */
string quoted(work *w, string text, size_t most);

#endif
