/* From text to phonemes, in the language of the voice (runtime/text/frontend/front_end.py, normalization/__init__.py,
 * left_out.py). Text is read as Python reads it without espeak-ng and without a lexicon of the user. */
#ifndef KOKORO_FRONT_END_H
#define KOKORO_FRONT_END_H

#include "english.h"
#include "sounds.h"

#define READ_LANGUAGES "abefhip" /* letters of LANGUAGES */

/* What is open of a language. */
typedef struct reader {
  const char *name;       /* of the language, for messages */
  const english *english; /* NULL: it is read by its sounds */
  const sounds *sounds;
  const struct reader *american; /* reads words in Latin letters where the language has none; NULL of English */
  const language *forms;         /* NULL: the file has none */
} reader;

/* What reads a language, by its letter; NULL where the file has nothing of it. american: what reads "a"; NULL for English.
 * What is made goes into `s->kept`. Fails with FAILURE_BUNDLE. */
const reader *open_reader(scope *s, const tensors *file, char letter, const reader *american);

typedef LIST(string) strings;

/* An inner node of a binary trie: which bit of a text decides, and where both values lead. A leaf is 2 * place, a branch
 * 2 * place + 1. */
typedef struct branch {
  size_t bit, children[2];
} branch;

/* Texts in insertion order, each once. The trie over their bits finds a text in a time that its length bounds, whatever
 * words a stranger chooses. */
typedef struct notes {
  string *all;
  size_t count, room;
  branch *branches; /* count - 1 of them */
  size_t branch_room, root;
} notes;

/* A text as it is to be read, and the same as it is written, without markup. */
typedef struct normalized {
  source source, plain;
} normalized;

normalized normalize(work *w, source from, const reader *r, notes *notices);

/* The tokens of every paragraph of a text, which may have none; each notice once. */
typedef LIST(tokens) utterances;
utterances read_text(work *w, const reader *r, const source *whole, notes *notices);

enum { MOST_SHOWN = 40 }; /* characters of a text that a message shows */
/* A text as a message shows it: its first characters, and "…" if there are more. */
string truncated(work *w, string text, size_t most);

/* The scripts of a text for a message, such as " (Japanese, Chinese script)"; empty if it has none (runtime/text/scripts.py). */
string in_script(work *w, string text);

/* A notice, unless it is there. */
void add_notice(work *w, notes *notices, string notice);

#endif
