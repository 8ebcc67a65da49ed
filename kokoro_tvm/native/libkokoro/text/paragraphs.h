/* Paragraphs, and the blocks of Markdown inside them (runtime/text/frontend/paragraphs.py, blocks.py). */
#ifndef KOKORO_PARAGRAPHS_H
#define KOKORO_PARAGRAPHS_H

#include "source.h"

typedef LIST(source) sources;

enum { MOST_OF_BLOCK = 8 }; /* characters of a line that show whether it begins a block */
typedef enum block_kind { NO_BLOCK, HEADING, RULE, ITEM, NUMBERED, ROW, FENCE } block_kind;

/* Whether a line with this first character may begin a block. */
int may_begin_block(int32_t c);
/* The block that begins at `place`, the first character of a line that is no space, and where its mark ends. numbered:
 * whether an item may have any number, and not 1 alone. */
block_kind block_at(work *w, string text, size_t place, int numbered, size_t *end);

/* Parts of a text that may be spoken, with every run of whitespace as one space, and without the marks of blocks. */
sources paragraphs(work *w, const source *whole);

#endif
