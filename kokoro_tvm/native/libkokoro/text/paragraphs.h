/* Paragraphs, and blocks of Markdown in them (runtime/text/frontend/paragraphs.py, blocks.py). */
#ifndef KOKORO_PARAGRAPHS_H
#define KOKORO_PARAGRAPHS_H

#include "source.h"

typedef LIST(source) sources;


typedef enum block_kind { NO_BLOCK, HEADING, RULE, ITEM, NUMBERED, ROW, FENCE } block_kind;

/* Return whether a line with this first character may begin a block. */
int may_begin_block(int32_t c);
/* Return the block that begins at `place`, the first non-space of a line, and the end of its mark. numbered: whether an
 * item may have a number other than 1. */
block_kind block_at(work *w, string text, size_t place, int numbered, size_t *end);

/* Return the speakable parts of a text, with single spaces and without block marks. */
sources paragraphs(work *w, const source *whole);

#endif
