#include "front_end.h"

#include <string.h>

#include "languages.h"
#include "markup.h"
#include "paragraphs.h"
#include "scanner.h"

enum { MOST_WORDS = 20 }; /* words in a message */

/* Add a notice unless its sentence exists. */
static void add_notice(work *w, notice_list *notices, notice added) {
  for (size_t i = 0; i < notices->count; ++i)
    if (is_same(notices->all[i].sentence, added.sentence)) return;
  PUSH(w, *notices, added);
}

/* Add a notice that lists texts, such as "Left out: a b.", about words of the text. */
static void add_list(work *w, notice_list *notices, const char *begin, const notes *texts, const char *between, const char *end,
                     const notes *words) {
  builder out = {0};
  if (!texts->count) return;
  put_ascii(w, &out, begin);
  for (size_t i = 0; i < texts->count && i < MOST_WORDS; ++i) {
    if (i) put_ascii(w, &out, between);
    put(w, &out, shorten_text(w, texts->all[i], MOST_SHOWN));
  }
  if (texts->count > MOST_WORDS) put_ascii(w, &out, format(w->s, w->memory, " and %zu more", texts->count - MOST_WORDS));
  put_ascii(w, &out, end);
  add_notice(w, notices, (notice){BUILT(out), {words->all, words->count, words->room}});
}

const char *language_name(char letter) {
  for (size_t i = 0; i < sizeof LANGUAGES / sizeof *LANGUAGES; ++i)
    if (LANGUAGES[i].letter == letter) return LANGUAGES[i].name;
  return "This";
}

const reader *open_reader(scope *s, const tensors *file, char letter, const reader *american) {
  static const char *const names[] = {"en", "en", "es", "fr", "hi", "it", "pt"}; /* in the order of READ_LANGUAGES */
  const char *candidate = letter ? strchr(READ_LANGUAGES, letter) : NULL;
  if (!candidate) return NULL;
  const char *name = names[candidate - READ_LANGUAGES];
  reader *result = take(s, s->kept, 1, sizeof *result);
  if (letter == 'a' || letter == 'b') result->english = open_english(s, file, letter == 'b');
  else if (!(result->sounds = open_sounds(s, file, name))) return NULL;
  result->american = american;
  result->name = language_name(letter);
  result->forms = open_language(s, file, name, letter);
  return result;
}

normalized normalize(work *w, source from, const reader *r, notice_list *notices) {
  edits (*const steps[])(work *, string) = {tags, entities, marks, composed_letters, expanded_ligatures, apostrophes, dashes,
                                             expanded_numerals, emoji_names};
  notes words = {0}, replaced = {0};
  size_t count = sizeof steps / sizeof *steps - (r->english ? 0 : 2); /* the last two steps are English */
  for (size_t i = 0; i < count; ++i) {
    edits part = steps[i](w, from.text);
    from = apply_free_edits(w, from, &part);
  }
  normalized result = {from, from};
  if (r->forms) {
    changes changed = {0};
    edits part = scan_forms(w, r->forms, r->english, &from, &changed);
    result.source = apply_edits(w, from, &part);
    for (size_t i = 0; i < changed.count; ++i) {
      builder element = {0};
      put(w, &element, changed.all[i].key);
      put_ascii(w, &element, " as ");
      put(w, &element, changed.all[i].value);
      add_text_once(w, &replaced, BUILT(element));
      add_text_once(w, &words, changed.all[i].key);
    }
    add_list(w, notices, "Read with other letters: ", &replaced, ", ", "", &words);
  }
  edits divided = divided_words(w, result.source.text);
  notes long_words = {0};
  for (size_t i = 0; i < divided.count; ++i)
    add_text_once(w, &long_words, slice(result.source.text, divided.all[i].start, divided.all[i].end));
  add_list(w, notices, "Divided, because it is too long for a word: ", &long_words, " ", "", &long_words);
  result.source = apply_free_edits(w, result.source, &divided);
  return result;
}

/* Return whether the token speaks its text. */
static int has_sound(const token *t) {
  for (size_t i = 0; i < t->phonemes.size; ++i)
    if (!is_one_of(t->phonemes.at[i], ";:,.!?—…\"()“”«»¡¿ ")) return 1;
  return 0;
}

static int any_of(const char *spoken, size_t start, size_t end, int value) {
  for (size_t i = start; i < end; ++i)
    if (spoken[i] == value) return 1;
  return 0;
}

static int is_lost(int32_t c, int within) { /* within: after a lost character */
  int kind = category(c);
  int sign = kind == CATEGORY('S', 'c') || kind == CATEGORY('S', 'm') || kind == CATEGORY('S', 'o');
  return is_alnum(c) || sign || (within && (kind == CATEGORY('M', 'c') || kind == CATEGORY('M', 'n')));
}

/* Find runs of letters and digits, and signs with a name, that no token speaks. */
static void find_left_out(work *w, const source *plain, const tokens *result, notes *lost) {
  size_t first = (size_t)-1, last = 0;
  for (size_t i = 0; i < plain->text.size; ++i) {
    if (plain->starts[i] < first) first = plain->starts[i];
    if (plain->ends[i] > last) last = plain->ends[i];
  }
  if (!plain->text.size) return;
  char *spoken = room(w, last - first, 1);
  const token *done = NULL; /* each word of a long number spans all of its digits */
  for (size_t i = 0; i < result->count; ++i) {
    const token *t = &result->all[i];
    if (done && t->start == done->start && t->end == done->end) continue;
    if (t->origin != FROM_GIVEN && !has_sound(t)) continue;
    for (size_t place = t->start; place < t->end; ++place) spoken[place - first] = 1;
    done = t;
  }
  for (size_t start = 0, end; start < plain->text.size; start = end + 1) {
    for (end = start; end < plain->text.size && !is_space(plain->text.at[end]);) ++end;
    if (start == end || !any_of(spoken, plain->starts[start] - first, plain->ends[end - 1] - first, 0)) continue;
    builder word = {0};
    for (size_t i = start; i <= end; ++i) {
      if (i < end && is_lost(plain->text.at[i], word.count > 0) &&
          !any_of(spoken, plain->starts[i] - first, plain->ends[i] - first, 1)) {
        put_char(w, &word, plain->text.at[i]);
      } else if (word.count) {
        add_text_once(w, lost, BUILT(word));
        word = (builder){0};
      }
    }
  }
}

/* Read words in Latin letters as American English, with spaces around them. */
static void read_latin(work *w, const reader *american, int marked, tokens *result, notice_list *notices) {
  static const int32_t space[] = {' '};
  int english = 0; /* whether the last token was read so */
  for (size_t i = 0; i < result->count; ++i) {
    token *element = &result->all[i], *last = element - 1;
    int latin = element->origin == FROM_LATIN;
    if (i && (latin || english) && !last->space.size && last->origin != FROM_MARK && element->origin != FROM_MARK)
      last->space = (string){space, 1};
    english = latin;
    if (!latin) continue;
    source word = source_of(w, nfkc(w, element->text));
    word.marked = marked;
    utterances read = read_text(w, american, &word, notices);
    builder phonemes = {0};
    for (size_t j = 0; j < read.count; ++j) {
      builder spoken = {0};
      for (size_t k = 0; k < read.all[j].count; ++k) {
        put(w, &spoken, read.all[j].all[k].phonemes);
        put(w, &spoken, read.all[j].all[k].space);
      }
      if (j) put_char(w, &phonemes, ' ');
      put(w, &phonemes, strip_spaces(BUILT(spoken)));
    }
    element->phonemes = BUILT(phonemes);
  }
}

static const char NO_STRESS[] =
    "The stress of single words, and how a number is read, can be chosen with the English front end of a bundle alone; here "
    "such links and <emphasis> change nothing.";

utterances read_text(work *w, const reader *r, const source *whole, notice_list *notices) {
  utterances candidate = {0};
  notes guessed = {0}, lost = {0};
  notice_list of_latin = {0};
  sources parts = paragraphs(w, whole);
  int unmet = 0; /* whether a link requests something that this language lacks */
  for (size_t i = 0; i < parts.count; ++i) {
    normalized part = normalize(w, parts.all[i], r, notices);
    tokens result = r->english ? read_english(w, r->english, &part.source) : read_sounds(w, r->sounds, &part.source);
    for (size_t j = 0; j < part.source.links.count && !r->english; ++j) unmet |= IS_NONE(part.source.links.all[j].phonemes);
    if (r->american) read_latin(w, r->american, whole->marked, &result, &of_latin);
    for (size_t j = 0; j < result.count; ++j)
      if (result.all[j].origin == FROM_LETTERS || result.all[j].origin == FROM_SPELLED)
        add_text_once(w, &guessed, result.all[j].text);
    find_left_out(w, &part.plain, &result, &lost);
    PUSH(w, candidate, result);
  }
  if (unmet) add_notice(w, notices, (notice){.sentence = decode_utf8(w, NO_STRESS)});
  for (size_t i = 0; i < of_latin.count; ++i) add_notice(w, notices, of_latin.all[i]);
  add_list(w, notices, "Read by their letters, because the lexicon does not have them: ", &guessed, " ",
           whole->marked ? ". Give their phonemes, [word](/phonemes/)." : ". Give their phonemes.", &guessed);
  builder all_lost = {0};
  for (size_t i = 0; i < lost.count; ++i) put(w, &all_lost, lost.all[i]);
  add_list(w, notices, format(w->s, w->memory, "Left out, because %s has no phonemes for it: ", r->name), &lost, " ",
           encode_utf8(w, format_scripts(w, BUILT(all_lost))), &lost);
  return candidate;
}
