/* The rules are those of misaki 0.9.4 (hexgrad, Apache-2.0; misaki/en.py): the voices were trained on what they give. */
#include "lexicon.h"

#include <string.h>

static const char TAPPING[] = "AIOWYiuæɑəɛɪɹʊʌ"; /* sounds after which an American t between vowels is tapped */

int begins_with(string text, const char *ascii) {
  size_t size = strlen(ascii);
  return text.size >= size && is_ascii_text(slice(text, 0, size), ascii);
}

int ends_with(string text, const char *ascii) {
  size_t size = strlen(ascii);
  return text.size >= size && is_ascii_text(slice(text, text.size - size, text.size), ascii);
}

static int is(string text, const char *ascii) { return is_ascii_text(text, ascii); }
static string end_cut(string text, size_t count) { return slice(text, 0, text.size - count); }

static string with(work *w, string text, const char *utf8) { return joined(w, text, decoded(w, utf8)); }

stress stress_of(work *w, string word) {
  return same(word, lower(w, word)) ? AS_IT_IS : same(word, upper(w, word)) ? STRONG : SLIGHT;
}

/* The part of speech of a tag as the lexicon names it; the tag where it has no other. */
static string class_of(work *w, string tag) {
  static const char *const classes[][2] = {{"VB", "VERB"}, {"NN", "NOUN"}, {"ADV", "ADV"},
                                           {"RB", "ADV"},  {"ADJ", "ADJ"}, {"JJ", "ADJ"}};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; ++i)
    if (begins_with(tag, classes[i][0])) return decoded(w, classes[i][1]);
  return tag;
}

/* The phonemes of an entry as a part of speech; of one that knows a form before a pause, that form. */
static string choose(work *w, entry found, string tag, const context *after) {
  if (!found.at || !is_named(found)) return text_of(w, found);
  string pause = decoded(w, "None");
  if (after && after->vowel == PAUSE && has_name(found, pause)) return text_of_name(w, found, pause);
  if (!has_name(found, tag)) tag = class_of(w, tag);
  return text_of_name(w, found, has_name(found, tag) ? tag : decoded(w, "DEFAULT"));
}

/* The entry of a word, or of the same one with or without a capital first letter. */
static entry entry_of(work *w, opened *in, string word) {
  entry found = find_entry(in, word);
  if (found.at || word.size < 2) return found;
  string small = lower(w, word);
  if (same(word, small)) return find_entry(in, capitalized(w, word));
  return same(word, capitalized(w, small)) ? find_entry(in, small) : found;
}

static int has(work *w, lexicon *l, string word) {
  return entry_of(w, &l->gold, word).at != NULL || entry_of(w, &l->silver, word).at != NULL;
}

string spell(work *w, lexicon *l, string word) {
  builder names = {0};
  int none = 1;
  for (size_t i = 0; i < word.size; ++i) {
    if (!is_alpha(word.at[i])) continue;
    string name = choose(w, find_entry(&l->gold, upper(w, slice(word, i, i + 1))), (string){0}, NULL);
    if (IS_NONE(name)) return NONE;
    put(w, &names, name);
    none = 0;
  }
  if (none) return NONE;
  string spoken = restress(w, some(BUILT(names)), UNSTRESSED);
  builder made = {0};
  put(w, &made, spoken);
  for (size_t i = made.count; i--;) {
    if (made.all[i] != SECONDARY) continue;
    made.all[i] = PRIMARY;
    break;
  }
  return some(BUILT(made));
}

/* The entry of a word of the lexicon, or its letters; NONE where a letter has no name. after: NULL where nothing is
 * known of what follows. */
static string look_up(work *w, lexicon *l, string word, string tag, stress wanted, const context *after) {
  int is_name = 0;
  if (same(word, upper(w, word)) && !entry_of(w, &l->gold, word).at) {
    word = lower(w, word);
    is_name = is(tag, "NNP");
  }
  entry found = entry_of(w, &l->gold, word);
  if (!found.at && !is_name) found = entry_of(w, &l->silver, word);
  string phonemes = choose(w, found, tag, after);
  if (IS_NONE(phonemes) || (is_name && !holds(phonemes, PRIMARY))) {
    string spelled = spell(w, l, word);
    if (!IS_NONE(spelled) || IS_NONE(phonemes)) return spelled;
  }
  return restress(w, phonemes, wanted);
}

int is_initialism(work *w, lexicon *l, string word) {
  return find_entry(&l->gold, word).at != NULL || !has(w, l, lower(w, word));
}

/* Phonemes with the sound of the ending -s. */
static string plural(work *w, const lexicon *l, string phonemes) {
  int32_t last = phonemes.at[phonemes.size - 1];
  if (is_one_of(last, "ptkfθ")) return with(w, phonemes, "s");
  if (is_one_of(last, "szʃʒʧʤ")) return with(w, phonemes, l->british ? "ɪz" : "ᵻz");
  return with(w, phonemes, "z");
}

static int is_tapped(string phonemes) {
  return phonemes.size > 1 && is_one_of(phonemes.at[phonemes.size - 2], TAPPING);
}

/* Phonemes with the sound of the ending -ed. */
static string past(work *w, const lexicon *l, string phonemes) {
  int32_t last = phonemes.at[phonemes.size - 1];
  if (is_one_of(last, "pkfθʃsʧ")) return with(w, phonemes, "t");
  if (last == 'd') return with(w, phonemes, l->british ? "ɪd" : "ᵻd");
  if (last != 't') return with(w, phonemes, "d");
  if (l->british || phonemes.size < 2) return with(w, phonemes, "ɪd");
  return is_tapped(phonemes) ? with(w, end_cut(phonemes, 1), "ɾᵻd") : with(w, phonemes, "ᵻd");
}

/* Phonemes with the sound of the ending -ing; NONE for what a British stem has lost before it. */
static string progressive(work *w, const lexicon *l, string phonemes) {
  int32_t last = phonemes.at[phonemes.size - 1];
  if (l->british && is_one_of(last, "əː")) return NONE;
  if (!l->british && last == 't' && is_tapped(phonemes)) return with(w, end_cut(phonemes, 1), "ɾɪŋ");
  return with(w, phonemes, "ɪŋ");
}

static int is_symbol(string word) { return word.size == 1 && is_one_of(word.at[0], "%&+@"); }

/* Whether `look_up` has phonemes for it: words, symbols, single letters, words in capitals. */
static int knows(work *w, lexicon *l, string word) {
  if (is_symbol(word) || has(w, l, word)) return 1;
  if (!all_alpha(word) || !all_ascii(word)) return 0;
  if (word.size == 1 || (same(word, upper(w, word)) && entry_of(w, &l->gold, lower(w, word)).at)) return 1;
  string rest = slice(word, 1, word.size);
  return same(rest, upper(w, rest));
}

/* How a word is looked up: as a part of speech, with a stress, before something. */
typedef struct reading {
  work *w;
  lexicon *l;
  string tag;
  stress wanted;
  context after;
} reading;

/* A stem with an ending, the first of at most three that is known; NONE where none is, or it has no phonemes. */
typedef string (*ending)(work *, const lexicon *, string);
static string with_ending(const reading *r, const string *stems, const int *possible, ending add) {
  for (int i = 0; i < 3; ++i) {
    if (!possible[i] || !knows(r->w, r->l, stems[i])) continue;
    string phonemes = look_up(r->w, r->l, stems[i], r->tag, r->wanted, &r->after);
    return phonemes.size ? add(r->w, r->l, phonemes) : NONE;
  }
  return NONE;
}

static string with_s(const reading *r, string word) {
  size_t size = word.size;
  if (size < 3 || !ends_with(word, "s")) return NONE;
  string stems[] = {end_cut(word, 1), end_cut(word, 2), with(r->w, end_cut(word, 3), "y")};
  int possible[] = {!ends_with(word, "ss"),
                    ends_with(word, "'s") || (size > 4 && ends_with(word, "es") && word.at[size - 3] != 'i'),
                    size > 4 && ends_with(word, "ies")};
  return with_ending(r, stems, possible, plural);
}

static string with_ed(const reading *r, string word) {
  if (word.size < 4 || !ends_with(word, "d")) return NONE;
  string stems[] = {end_cut(word, 1), end_cut(word, 2), word};
  int possible[] = {!ends_with(word, "dd"), word.size > 4 && ends_with(word, "ed") && !ends_with(word, "eed"), 0};
  return with_ending(r, stems, possible, past);
}

static string with_ing(const reading *r, string word) {
  size_t size = word.size;
  if (size < 5 || !ends_with(word, "ing")) return NONE;
  int doubled = word.at[size - 4] == word.at[size - 5] && is_one_of(word.at[size - 4], "bcdgklmnprstvxz");
  string stems[] = {end_cut(word, 3), with(r->w, end_cut(word, 3), "e"), end_cut(word, 4)};
  int possible[] = {size > 5, 1, size > 5 && (doubled || ends_with(word, "cking"))};
  return with_ending(r, stems, possible, progressive);
}

/* Letters with points between them, one or two at a time: U.S., e.g. */
static int is_abbreviation(string word) {
  size_t points = 0, run = 0, first = 0, last = word.size;
  while (first < last && word.at[first] == '.') ++first;
  while (last > first && word.at[last - 1] == '.') --last;
  if (!holds(slice(word, first, last), '.')) return 0;
  for (size_t i = 0; i < word.size; ++i) {
    int point = word.at[i] == '.';
    if (!point && (!is_alpha(word.at[i]) || ++run > 2)) return 0;
    if (point) ++points, run = 0;
  }
  return points < word.size;
}

static string am(const reading *r, string word) {
  if (begins_with(r->tag, "NN")) return spell(r->w, r->l, word);
  if (r->after.vowel == PAUSE || !is(word, "am") || r->wanted >= SLIGHT)
    return choose(r->w, find_entry(&r->l->gold, decoded(r->w, "am")), (string){0}, NULL);
  return decoded(r->w, "ɐm");
}

static string named(const reading *r, const char *word, stress wanted) {
  return look_up(r->w, r->l, decoded(r->w, word), (string){0}, wanted, &r->after);
}

/* Words whose sound depends on more than their spelling and part of speech. */
static string special(const reading *r, string word) {
  work *w = r->w;
  string tag = r->tag;
  if (is(tag, "ADD") && is(word, ".")) return named(r, "dot", WEAKER);
  if (is(tag, "ADD") && is(word, "/")) return named(r, "slash", WEAKER);
  if (is_symbol(word))
    return named(r, is(word, "%") ? "percent" : is(word, "&") ? "and" : is(word, "+") ? "plus" : "at", AS_IT_IS);
  if (is_abbreviation(word)) return spell(w, r->l, word);
  if (is(tag, "IN") && (word.size == 2 || (word.size == 3 && word.at[2] == '.')) && is_one_of(word.at[0], "vV") &&
      is_one_of(word.at[1], "sSſ"))
    return named(r, "versus", AS_IT_IS);
  string small = lower(w, word);
  /* Of capitals alone it is a word only as the part of speech that the word has. */
  if (!same(word, small) && !same(word, capitalized(w, small)) && !same(word, upper(w, small))) return NONE;
  if (is(small, "a")) return decoded(w, is(tag, "DT") ? "ɐ" : "ˈA");
  if (is(small, "am")) return am(r, word);
  if (is(small, "an")) return is(word, "AN") && begins_with(tag, "NN") ? spell(w, r->l, word) : decoded(w, "ɐn");
  if (is(small, "i") && is(word, "I") && is(tag, "PRP")) return decoded(w, "ˌI");
  if (is(small, "by") && is(class_of(w, tag), "ADV")) return decoded(w, "bˈI");
  if (is(small, "to") && (!is(word, "TO") || is(tag, "TO") || is(tag, "IN"))) {
    if (r->after.vowel == PAUSE) return look_up(w, r->l, small, (string){0}, AS_IT_IS, NULL);
    return decoded(w, r->after.vowel == VOWEL ? "tʊ" : "tə");
  }
  if (is(small, "in") && (!is(word, "IN") || !is(tag, "NNP")))
    return decoded(w, r->after.vowel != PAUSE && is(tag, "IN") ? "ɪn" : "ˈɪn");
  if (is(small, "the") && (!is(word, "THE") || is(tag, "DT"))) return decoded(w, r->after.vowel == VOWEL ? "ði" : "ðə");
  if (is(small, "used")) {
    int past_tense = (is(tag, "VBD") || is(tag, "JJ")) && r->after.to;
    return choose(w, find_entry(&r->l->gold, small), decoded(w, past_tense ? "VBD" : "DEFAULT"), NULL);
  }
  return NONE;
}

/* Whether a word unknown with its capitals may be a known one written large; short names are not. */
static int is_capitalised(const reading *r, string word) {
  work *w = r->w;
  size_t letters = 0;
  for (size_t i = 0; i < word.size; ++i) {
    if (word.at[i] != '\'' && !is_alpha(word.at[i])) return 0;
    letters += word.at[i] != '\'';
  }
  if (word.size < 2 || !letters || same(word, lower(w, word)) || (is(r->tag, "NNP") && word.size <= 7)) return 0;
  string rest = slice(word, 1, word.size);
  return !has(w, r->l, word) && (same(word, upper(w, word)) || same(rest, lower(w, rest)));
}

static int knows_lower(const reading *r, string word) {
  return has(r->w, r->l, word) || with_s(r, word).size || with_ed(r, word).size || with_ing(r, word).size;
}

string read_word(work *w, lexicon *l, string word, string tag, context after, stress wanted) {
  reading r = {w, l, tag, wanted, after};
  string found = special(&r, word);
  if (!IS_NONE(found)) return found;
  if (is_capitalised(&r, word) && knows_lower(&r, lower(w, word))) word = lower(w, word);
  string spellings[3] = {word};
  int count = 1;
  if (ends_with(word, "s'")) {
    spellings[count++] = with(w, end_cut(word, 2), "'s");
    spellings[count++] = end_cut(word, 1);
  } else if (ends_with(word, "'")) {
    spellings[count++] = end_cut(word, 1);
  }
  for (int i = 0; i < count; ++i)
    if (knows(w, l, spellings[i])) return look_up(w, l, spellings[i], tag, wanted, &after);
  found = with_s(&r, word);
  if (!found.size) found = with_ed(&r, word);
  if (found.size) return found;
  if (wanted == AS_IT_IS) r.wanted = SLIGHT;
  return with_ing(&r, word);
}
