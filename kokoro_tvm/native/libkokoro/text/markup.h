/* Normalization independent of the language: markup inside a line and spellings of characters
 * (runtime/text/frontend/normalization/ markdown.py, characters.py, emoji.py). Each function returns edits. */
#ifndef KOKORO_MARKUP_H
#define KOKORO_MARKUP_H

#include "source.h"

edits tags(work *w, string text);
edits entities(work *w, string text);
edits marks(work *w, string text);
edits composed_letters(work *w, string text);
edits expanded_ligatures(work *w, string text);
edits expanded_numerals(work *w, string text);
edits apostrophes(work *w, string text);
edits dashes(work *w, string text);
edits emoji_names(work *w, string text);
edits divided_words(work *w, string text);

#endif
