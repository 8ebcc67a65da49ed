/* Notices and parts of messages (runtime/notices.py, common/words.py, runtime/text/scripts.py). */
#ifndef KOKORO_MESSAGES_H
#define KOKORO_MESSAGES_H

#include "characters.h"

typedef LIST(string) strings;

/* A sentence about a text, and the words of the text that it is about. */
typedef struct notice {
  string sentence;
  strings words;
} notice;
typedef LIST(notice) notice_list;

enum { MOST_SHOWN = 40 }; /* characters of a text in a message */

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

/* Add a text; return 0 if it exists. */
int add_text_once(work *w, notes *texts, string text);

/* Return the first characters of a text, with "…" if there are more. */
string shorten_text(work *w, string text, size_t most);
/* Return the words of a text with single spaces between them. */
string single_spaces(work *w, string text);
/* Return the beginning of a text for a message: one line of `most` characters in quotation marks. */
string quote(work *w, string text, size_t most);
/* Return the scripts of a text for a message, such as " (Japanese, Chinese script)", or "". */
string format_scripts(work *w, string text);
/* Append a character as Python's repr writes it. */
void put_repr(work *w, builder *out, int32_t c);
/* Append a symbol with its code point. */
void put_symbol(work *w, builder *out, int32_t symbol);
/* Return the first eight of the symbols for a message. */
string list_symbols(work *w, string symbols);

#endif
