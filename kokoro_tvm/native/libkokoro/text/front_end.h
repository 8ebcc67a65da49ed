/* Text to phonemes in a language (runtime/text/frontend/front_end.py, normalization/__init__.py, left_out.py), as in
 * Python without espeak-ng and without a lexicon of the user. */
#ifndef KOKORO_FRONT_END_H
#define KOKORO_FRONT_END_H

#include "english.h"
#include "sounds.h"

#define READ_LANGUAGES "abefhip" /* letters of LANGUAGES */

/* The open parts of a language. */
typedef struct reader {
  const char *name;       /* of the language, for messages */
  const english *english; /* NULL: the language is read by `sounds` */
  const sounds *sounds;
  const struct reader *american; /* reads words in Latin letters for other scripts; NULL for English */
  const language *forms;         /* written forms; NULL: the file has none */
} reader;

/* Return the reader of a language by its letter, or NULL if the file lacks it. american: the reader of "a", NULL for
 * English. Memory is from `s->kept`. Fails with FAILURE_BUNDLE. */
const reader *open_reader(scope *s, const tensors *file, char letter, const reader *american);

typedef LIST(string) strings;

/* An inner node of a binary trie: the deciding bit of a text, and the child for each value. A leaf is 2 * place, a
 * branch 2 * place + 1. */
typedef struct branch {
  size_t bit, children[2];
} branch;

/* Texts in insertion order, each once. The trie over their bits bounds the time of a search by the length of the text,
 * whatever words a stranger chooses. */
typedef struct notes {
  string *all;
  size_t count, room;
  branch *branches; /* count - 1 of them */
  size_t branch_room, root;
} notes;

/* A text in the form that is read, and in its written form without markup. */
typedef struct normalized {
  source source, plain;
} normalized;

normalized normalize(work *w, source from, const reader *r, notes *notices);

/* The tokens of every paragraph, of which there may be none. Notices are unique. */
typedef LIST(tokens) utterances;
utterances read_text(work *w, const reader *r, const source *whole, notes *notices);

enum { MOST_SHOWN = 40 }; /* characters of a text in a message */
/* Return the first characters of a text, with "…" if there are more. */
string shorten_text(work *w, string text, size_t most);

/* Return the scripts of a text for a message, such as " (Japanese, Chinese script)", or "" (runtime/text/scripts.py). */
string format_scripts(work *w, string text);

/* Add a notice unless it exists. */
void add_notice(work *w, notes *notices, string notice);

#endif
