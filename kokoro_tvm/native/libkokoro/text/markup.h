/* What is no language: markup inside a line, and how characters are written (runtime/text/frontend/normalization/
 * markdown.py, characters.py, emoji.py). Each gives what is put in the place of what. */
#ifndef KOKORO_MARKUP_H
#define KOKORO_MARKUP_H

#include "source.h"

edits tags(work *w, string text);
edits entities(work *w, string text);
edits marks(work *w, string text);
edits composed_letters(work *w, string text);
edits apostrophes(work *w, string text);
edits dashes(work *w, string text);
edits emoji_names(work *w, string text);
edits divided_words(work *w, string text);

#endif
