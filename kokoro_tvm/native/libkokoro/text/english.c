/* English text to phonemes: tokenizer, tagger, lexicon, and letter-to-sound for unknown words (english.py). */
#include "english.h"

#include "joint_ngrams.h"
#include "parts.h"
#include "tagger.h"

enum { FORMAT = 7, LONGEST = 20 }; /* LONGEST: parts of a word that are looked up together */

struct english {
  int british, has_homographs;
  tokenizer tokenizer;
  tagger tagger;
  homographs homographs;
  dictionary gold, silver, names;
  joint_ngrams letters;
};

/* State of one text. word: allocator of the current word. */
typedef struct call {
  work *w, word;
  const english *of;
  lexicon lexicon;
  opened exceptions, norms, symbols, readings;
} call;

english *open_english(scope *s, const tensors *file, int british) {
  english *result = take(s, s->kept, 1, sizeof *result);
  const tensor *layout = get_tensor(s, file, "format", "I32", 1);
  int candidate = layout->elements == 1 ? *(const int32_t *)layout->data : 0;
  if (candidate != FORMAT)
    fail(s, FAILURE_BUNDLE,
         "The front end has layout %d, and this version reads %d. Build the bundle with this version.",
         candidate, FORMAT);
  result->british = british;
  result->tokenizer = open_tokenizer(s, file);
  result->tagger = open_tagger(s, file);
  result->has_homographs = open_homographs(s, file, british, result->tagger.channels, &result->homographs);
  result->gold = open_dictionary(s, file, british ? "lexicon.gb.gold" : "lexicon.us.gold");
  result->silver = open_dictionary(s, file, british ? "lexicon.gb.silver" : "lexicon.us.silver");
  result->names = open_dictionary(s, file, british ? "lexicon.gb.names" : "lexicon.us.names");
  result->letters = open_joint_ngrams(s, file, british);
  return result;
}

/* Start the allocator of the next word. */
static work *next_word(call *c) {
  release(c->word.memory);
  c->word = WORK(c->w->s, c->word.memory);
  return &c->word;
}

static void release_memory(void *memory) { release(memory); }

/* Return an allocator that is released before the call ends. */
static work temporary_memory(work *w) {
  arena *memory = take(w->s, &w->s->scratch, 1, sizeof *memory);
  give(w->s, &w->s->scratch, release_memory, memory);
  return WORK(w->s, memory);
}

/* Copy phonemes to the call's allocator. */
static string keep_phonemes(call *c, string phonemes) { return some(join(c->w, phonemes, (string){0})); }

/* ---- capitals.py: words in a run of words in capitals ---- */

static int is_apostrophe(int32_t c) { return c == '\'' || c == 0x2018 || c == 0x2019; }

/* Return whether a text consists of capitals and apostrophes. */
static int is_large(work *w, string text) {
  builder letters = {0};
  for (size_t i = 0; i < text.size; ++i)
    if (!is_apostrophe(text.at[i])) put_char(w, &letters, text.at[i]);
  string result = BUILT(letters), large = upper(w, result);
  return all_alpha(result) && is_same(result, large) && !is_same(large, lower(w, result));
}

/* Mark the pieces in runs of words in capitals that are no initialisms; return whether there are any. */
static int find_capitals(call *c, const pieces *all, char *large) {
  size_t begin = 0, any = 0; /* of the run, whose words are marked 2 */
  for (size_t place = 0; place <= all->count; ++place) {
    work *w = next_word(c);
    if (place < all->count && is_large(w, all->all[place].text)) {
      large[place] = 2;
    } else if (place == all->count || any_alnum(all->all[place].text)) {
      size_t run = 0, shouted = 0;
      for (size_t i = begin; i < place; ++i) run += large[i] == 2;
      for (size_t i = begin; i < place && run > 1 && !shouted; ++i)
        shouted = large[i] == 2 && all->all[i].text.size > 1 && !is_initialism(w, &c->lexicon, all->all[i].text);
      for (size_t i = begin; i < place; ++i) large[i] = large[i] == 2 && shouted;
      any = any || shouted;
      begin = place + 1;
    }
  }
  return any != 0;
}

static int is_any(string text, const char *const *of) {
  for (; *of; ++of)
    if (is_ascii_text(text, *of)) return 1;
  return 0;
}

/* Choose between tags in lower case and as written. A pronoun after an article or before a noun is none. */
static void tag_capitals(const pieces *all, const string *small, string *tags, const char *large) {
  static const char *const no_pronoun_after[] = {"DT", "JJ", "PRP$", NULL};
  static const char *const adverbs[] = {"TODAY", "TONIGHT", "TOMORROW", "YESTERDAY", NULL};
  for (size_t i = 0; i < all->count; ++i) {
    string before = i ? small[i - 1] : (string){0}, after = {0};
    if (i + 1 < all->count && !is_any(all->all[i + 1].text, adverbs)) after = small[i + 1];
    int noun = is_any(before, no_pronoun_after) || (begins_with(after, "NN") && !begins_with(before, "VB"));
    if (large[i] && !(is_ascii_text(small[i], "PRP") && noun)) tags[i] = small[i];
  }
}

/* ---- english.py ---- */

/* Cut pieces where a link gives phonemes for a part of one. The rest is read too. */
static pieces cut_at_links(work *w, const pieces *all, const links *links) {
  pieces result = {0};
  size_t edge = 0; /* two per link */
  if (!links->count) return *all;
  for (size_t i = 0; i < all->count; ++i) {
    piece element = all->all[i], rest = element;
    size_t end = element.start + element.text.size;
    for (; edge < 2 * links->count; ++edge) {
      const text_link *l = &links->all[edge / 2];
      size_t place = edge % 2 ? l->end : l->start;
      if (place >= end) break;
      if (place <= rest.start || IS_NONE(l->phonemes)) continue;
      PUSH(w, result, (piece){.text = slice(rest.text, 0, place - rest.start), .start = rest.start});
      rest = (piece){.text = slice(rest.text, place - rest.start, rest.text.size), .start = place, .space = element.space};
    }
    PUSH(w, result, rest);
  }
  return result;
}

/* Return the tagged parts of a text with the requests of links. */
static part_list tag_text(call *c, string text, const links *links) {
  work *w = c->w;
  const english *e = c->of;
  pieces whole = split(w, &e->tokenizer, &c->exceptions, text), all = cut_at_links(w, &whole, links), small = all;
  const text_link *next = links->all, *last = next + links->count, *spoken = NULL;
  char *large = room(w, all.count + 1, 1);
  int any = find_capitals(c, &all, large);
  if (any) {
    small.all = room(w, all.count, sizeof *small.all);
    for (size_t i = 0; i < all.count; ++i) {
      small.all[i] = all.all[i];
      if (large[i]) small.all[i].text = lower(w, all.all[i].text);
    }
  }
  work tagging = temporary_memory(w);
  tagged candidate = tag_pieces(&tagging, &e->tagger, &c->norms, &c->symbols, &small);
  string *readings = NULL;
  if (e->has_homographs) readings = read_homographs(&tagging, &e->homographs, &c->readings, &small, &candidate);
  if (any) {
    string *tags = tag_pieces(&tagging, &e->tagger, &c->norms, &c->symbols, &all).tags;
    tag_capitals(&all, candidate.tags, tags, large);
    candidate.tags = tags;
  }
  part_list parts = {0};
  for (size_t i = 0; i < all.count; ++i) {
    const piece *p = &all.all[i];
    if (is_space(p->text.at[0])) {
      if (parts.count) parts.all[parts.count - 1].space = 1;
      continue;
    }
    part result = {.text = p->text, .tag = candidate.tags[i], .start = p->start, .end = p->start + p->text.size};
    result.space = p->space;
    result.large = large[i];
    if (readings && !IS_NONE(readings[i])) result.reading = keep_phonemes(c, readings[i]);
    while (next < last && next->end <= result.start) ++next;
    if (next < last && next->start < result.end) {
      result.stress = next->stress;
      if (next == spoken) { /* a link spans one word */
        settle_part(&result, (string){0}, FROM_GIVEN);
        part both[] = {parts.all[parts.count - 1], result};
        parts.all[parts.count - 1] = join_parts(w, both, 2);
        continue;
      }
      if (!IS_NONE(next->phonemes)) {
        settle_part(&result, next->phonemes, FROM_GIVEN);
        spoken = next;
      }
    }
    PUSH(w, parts, result);
  }
  release(tagging.memory);
  mark_stutters(w, &parts);
  return parts;
}

/* Return phonemes of the lexicon, or NONE. */
static string look_up(call *c, const part *p, context after) {
  work *w = &c->word;
  builder spelled = {0};
  for (size_t i = 0; i < p->text.size; ++i)
    put_char(w, &spelled, is_apostrophe(p->text.at[i]) ? '\'' : p->text.at[i]);
  string text = nfkc(w, BUILT(spelled));
  stress expected = p->large ? AS_IT_IS : stress_of(w, text);
  string result = p->reading;
  if (IS_NONE(result)) result = read_word(w, &c->lexicon, text, p->tag, after, expected);
  else result = restress(w, result, expected);
  return IS_NONE(result) ? result : restress(w, result, p->stress);
}

/* Return the context before a part that says `phonemes` and is followed by `after`. */
static context before(context after, string phonemes, const part *p) {
  context result = {after.vowel, is_ascii_text(p->text, "to") || is_ascii_text(p->text, "To")};
  if (is_ascii_text(p->text, "TO")) result.to = is_ascii_text(p->tag, "TO") || is_ascii_text(p->tag, "IN");
  for (size_t i = 0; i < phonemes.size; ++i) {
    int32_t symbol = phonemes.at[i];
    int vowel = is_vowel(symbol);
    if (!is_pause(symbol) && !vowel && !is_consonant(symbol)) continue;
    result.vowel = is_pause(symbol) ? PAUSE : vowel ? VOWEL : CONSONANT;
    break;
  }
  return result;
}

/* Return a word with at most `most` equal letters in a row. */
static string shorten_runs(work *w, string text, size_t most) {
  builder result = {0};
  for (size_t i = 0, run = 0; i < text.size; ++i) {
    run = i && text.at[i] == text.at[i - 1] ? run + 1 : 1;
    if (run <= most) put_char(w, &result, text.at[i]);
  }
  return BUILT(result);
}

/* Return phonemes of a word that is stretched in writing ("waaay"), or NONE. */
static string look_up_stretched(call *c, const part *p, context after) {
  string result = NONE;
  if (shorten_runs(&c->word, p->text, 2).size == p->text.size) return NONE;
  for (size_t most = 2; most && IS_NONE(result); --most) {
    part shorter = *p;
    shorter.text = shorten_runs(&c->word, p->text, most);
    result = look_up(c, &shorter, after);
  }
  return result;
}

/* Read a word of one part and return the context before it. */
static context read_part(call *c, part *p, context after) {
  if (IS_NONE(p->phonemes)) {
    int origin = FROM_LEXICON;
    string result = look_up(c, p, after);
    if (IS_NONE(result) && all_alpha(p->text)) result = look_up_stretched(c, p, after);
    if (IS_NONE(result)) result = guess(&c->word, &c->lexicon, p->text, &origin);
    if (!IS_NONE(result)) settle_part(p, keep_phonemes(c, result), origin);
  }
  if (IS_NONE(p->phonemes) && p->text.size == 1 && is_pause(p->text.at[0])) settle_part(p, p->text, FROM_MARK);
  return before(after, p->phonemes, p);
}

static int all_open(const part *parts, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!IS_NONE(parts[i].phonemes)) return 0;
  return 1;
}

static void settle_all(part *parts, size_t count, string phonemes, int origin) {
  for (size_t i = 0; i < count; ++i) settle_part(&parts[i], i ? (string){0} : phonemes, origin);
}

/* Look up the longest known parts from the end of the word to its beginning. */
static context read_parts(call *c, word *element, context after) {
  part *parts = element->parts;
  int guessed = 0; /* whether the whole word was guessed: it stays unknown */
  for (size_t right = element->count; right;) {
    size_t left = right > LONGEST ? right - LONGEST : 0;
    string result = NONE;
    next_word(c);
    for (; left < right && IS_NONE(result); ++left) {
      if (!all_open(parts + left, right - left)) continue;
      part whole = join_parts(&c->word, parts + left, right - left);
      result = look_up(c, &whole, after);
      if (IS_NONE(result)) continue;
      settle_all(parts + left, right - left, keep_phonemes(c, result), FROM_LEXICON);
      after = before(after, result, &whole);
      right = left;
      break;
    }
    if (!IS_NONE(result)) continue;
    part *last = &parts[--right];
    if (!IS_NONE(last->phonemes)) continue;
    if (all_joints(last->text)) {
      settle_part(last, (string){0}, FROM_MARK);
      continue;
    }
    if (guessed++) continue;
    int origin;
    result = guess(&c->word, &c->lexicon, join_parts(&c->word, parts, element->count).text, &origin);
    if (IS_NONE(result)) continue;
    settle_all(parts, element->count, keep_phonemes(c, result), origin);
    return after;
  }
  settle_word(c->w, element);
  return after;
}

/* Replace symbols that the model lacks: the tap of American "better" and the glottal stop. */
static string replace_symbols(work *w, string phonemes) {
  builder result = {0};
  for (size_t i = 0; i < phonemes.size; ++i) {
    int32_t symbol = phonemes.at[i];
    put_char(w, &result, symbol == 0x27E ? 'T' : symbol == 0x294 ? 't' : symbol);
  }
  return BUILT(result);
}

const string *find_tags(work *w, const english *e, string text) {
  string *result = room(w, text.size + 1, sizeof *result);
  opened exceptions = use_dictionary(w, &e->tokenizer.exceptions);
  opened norms = use_dictionary(w, &e->tagger.norms), symbols = use_dictionary(w, &e->tagger.symbols);
  pieces all = split(w, &e->tokenizer, &exceptions, text);
  const string *tags = tag_pieces(w, &e->tagger, &norms, &symbols, &all).tags;
  for (size_t i = 0; i < all.count; ++i) result[all.all[i].start] = tags[i];
  return result;
}

tokens read_english(work *w, const english *e, const source *from) {
  static const int32_t space[] = {' '};
  size_t lead = 0;
  while (lead < from->text.size && is_space(from->text.at[lead])) ++lead;
  call c = {.w = w, .word = temporary_memory(w), .of = e};
  c.lexicon = (lexicon){use_dictionary(w, &e->gold), use_dictionary(w, &e->silver), use_dictionary(w, &e->names),
                        &e->letters, e->british};
  c.exceptions = use_dictionary(w, &e->tokenizer.exceptions);
  c.norms = use_dictionary(w, &e->tagger.norms);
  c.symbols = use_dictionary(w, &e->tagger.symbols);
  if (e->has_homographs) c.readings = use_dictionary(w, &e->homographs.words);
  links links = {0};
  for (size_t i = 0; i < from->links.count; ++i) {
    text_link moved = from->links.all[i];
    moved.start -= moved.start < lead ? moved.start : lead;
    moved.end -= moved.end < lead ? moved.end : lead;
    if (moved.start < moved.end) PUSH(w, links, moved);
  }
  part_list parts = tag_text(&c, slice(from->text, lead, from->text.size), &links);
  word_list words = group_parts(w, &parts);
  context after = {PAUSE, 0};
  for (size_t i = words.count; i--;) {
    word *element = &words.all[i];
    next_word(&c);
    if (element->parts->stuttered) { /* the word behind its hyphen is read already */
      const word *whole = &words.all[i + 2];
      string phonemes = join_parts(&c.word, whole->parts, whole->count).phonemes;
      settle_part(element->parts, find_onset(w, phonemes), FROM_LEXICON);
    }
    after = element->count > 1 ? read_parts(&c, element, after) : read_part(&c, element->parts, after);
  }
  tokens result = {0};
  for (size_t i = 0; i < words.count; ++i) {
    part whole = join_parts(w, words.all[i].parts, words.all[i].count);
    token candidate = {.text = whole.text, .tag = whole.tag, .origin = whole.origin};
    candidate.phonemes = replace_symbols(w, whole.phonemes);
    candidate.space = (string){space, whole.space ? 1 : 0};
    span_of(from, lead + whole.start, lead + whole.end, &candidate.start, &candidate.end);
    PUSH(w, result, candidate);
  }
  release(c.word.memory);
  return result;
}
