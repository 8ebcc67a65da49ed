/* Rules of misaki 0.9.4 (hexgrad, Apache-2.0; misaki/en.py), on whose output the voices were trained. */
#include "lexicon.h"

#include <string.h>

static const char TAPPING[] = "AIOWYiuæɑəɛɪɹʊʌ"; /* sounds after which American English taps a t between vowels */

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

static string with(work *w, string text, const char *utf8) { return join(w, text, decode_utf8(w, utf8)); }

stress stress_of(work *w, string word) {
  return is_same(word, lower(w, word)) ? AS_IT_IS : is_same(word, upper(w, word)) ? STRONG : SLIGHT;
}

/* Return the lexicon's part of speech for a tag, or the tag. */
static string class_of(work *w, string tag) {
  static const char *const classes[][2] = {{"VB", "VERB"}, {"NN", "NOUN"}, {"ADV", "ADV"},
                                           {"RB", "ADV"},  {"ADJ", "ADJ"}, {"JJ", "ADJ"}};
  for (size_t i = 0; i < sizeof classes / sizeof *classes; ++i)
    if (begins_with(tag, classes[i][0])) return decode_utf8(w, classes[i][1]);
  return tag;
}

/* Return an entry's phonemes for a part of speech, in the form before a pause if there is one. */
static string choose(work *w, entry result, string tag, const context *after) {
  if (!result.at || !is_named(result)) return text_of(w, result);
  string pause = decode_utf8(w, "None");
  if (after && after->vowel == PAUSE && has_name(result, pause)) return text_of_name(w, result, pause);
  if (!has_name(result, tag)) tag = class_of(w, tag);
  return text_of_name(w, result, has_name(result, tag) ? tag : decode_utf8(w, "DEFAULT"));
}

/* Return the entry of a word with or without a capital first letter. */
static entry entry_of(work *w, opened *in, string word) {
  entry result = find_entry(in, word);
  if (result.at || word.size < 2) return result;
  string small = lower(w, word);
  if (is_same(word, small)) return find_entry(in, capitalize(w, word));
  return is_same(word, capitalize(w, small)) ? find_entry(in, small) : result;
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
  builder result = {0};
  put(w, &result, spoken);
  for (size_t i = result.count; i--;) {
    if (result.all[i] != SECONDARY) continue;
    result.all[i] = PRIMARY;
    break;
  }
  return some(BUILT(result));
}

/* Return the lexicon's phonemes or the names of the letters, or NONE. after: NULL if unknown. */
static string look_up(work *w, lexicon *l, string word, string tag, stress expected, const context *after) {
  int is_name = 0;
  if (is_same(word, upper(w, word)) && !entry_of(w, &l->gold, word).at) {
    word = lower(w, word);
    is_name = is(tag, "NNP");
  }
  entry result = entry_of(w, &l->gold, word);
  if (!result.at && !is_name) result = entry_of(w, &l->silver, word);
  string phonemes = choose(w, result, tag, after);
  if (IS_NONE(phonemes) || (is_name && !contains(phonemes, PRIMARY))) {
    string spelled = spell(w, l, word);
    if (!IS_NONE(spelled) || IS_NONE(phonemes)) return spelled;
  }
  return restress(w, phonemes, expected);
}

int is_initialism(work *w, lexicon *l, string word) {
  return find_entry(&l->gold, word).at != NULL || !has(w, l, lower(w, word));
}

/* Append the sound of -s. */
string plural(work *w, const lexicon *l, string phonemes) {
  int32_t last = phonemes.at[phonemes.size - 1];
  if (is_one_of(last, "ptkfθ")) return with(w, phonemes, "s");
  if (is_one_of(last, "szʃʒʧʤ")) return with(w, phonemes, l->british ? "ɪz" : "ᵻz");
  return with(w, phonemes, "z");
}

static int is_tapped(string phonemes) {
  return phonemes.size > 1 && is_one_of(phonemes.at[phonemes.size - 2], TAPPING);
}

/* Append the sound of -ed. */
static string past(work *w, const lexicon *l, string phonemes) {
  int32_t last = phonemes.at[phonemes.size - 1];
  if (is_one_of(last, "pkfθʃsʧ")) return with(w, phonemes, "t");
  if (last == 'd') return with(w, phonemes, l->british ? "ɪd" : "ᵻd");
  if (last != 't') return with(w, phonemes, "d");
  if (l->british || phonemes.size < 2) return with(w, phonemes, "ɪd");
  return is_tapped(phonemes) ? with(w, end_cut(phonemes, 1), "ɾᵻd") : with(w, phonemes, "ᵻd");
}

/* Append the sound of -ing; NONE for British stems that lost a sound before it. */
static string progressive(work *w, const lexicon *l, string phonemes) {
  int32_t last = phonemes.at[phonemes.size - 1];
  if (l->british && is_one_of(last, "əː")) return NONE;
  if (!l->british && last == 't' && is_tapped(phonemes)) return with(w, end_cut(phonemes, 1), "ɾɪŋ");
  return with(w, phonemes, "ɪŋ");
}

static int is_symbol(string word) { return word.size == 1 && is_one_of(word.at[0], "%&+@"); }

/* Return whether `look_up` knows a word: words, symbols, single letters, words in capitals. */
static int is_known(work *w, lexicon *l, string word) {
  if (is_symbol(word) || has(w, l, word)) return 1;
  if (!all_alpha(word) || !all_ascii(word)) return 0;
  if (word.size == 1 || (is_same(word, upper(w, word)) && entry_of(w, &l->gold, lower(w, word)).at)) return 1;
  string rest = slice(word, 1, word.size);
  return is_same(rest, upper(w, rest));
}

/* The context of a lookup: part of speech, stress, following word. */
typedef struct reading {
  work *w;
  lexicon *l;
  string tag;
  stress wanted;
  context after;
} reading;

/* Try at most three stems with an ending; return the first known one, or NONE. */
typedef string (*ending)(work *, const lexicon *, string);
static string with_ending(const reading *r, const string *stems, const int *possible, ending add) {
  for (int i = 0; i < 3; ++i) {
    if (!possible[i] || !is_known(r->w, r->l, stems[i])) continue;
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

/* Return whether a word is one or two letters between points: U.S., e.g. */
static int is_abbreviation(string word) {
  size_t points = 0, run = 0, first = 0, last = word.size;
  while (first < last && word.at[first] == '.') ++first;
  while (last > first && word.at[last - 1] == '.') --last;
  if (!contains(slice(word, first, last), '.')) return 0;
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
    return choose(r->w, find_entry(&r->l->gold, decode_utf8(r->w, "am")), (string){0}, NULL);
  return decode_utf8(r->w, "ɐm");
}

static string look_up_name(const reading *r, const char *word, stress expected) {
  return look_up(r->w, r->l, decode_utf8(r->w, word), (string){0}, expected, &r->after);
}

/* Read words whose sound depends on more than spelling and part of speech. */
static string read_special(const reading *r, string word) {
  work *w = r->w;
  string tag = r->tag;
  if (is(tag, "ADD") && is(word, ".")) return look_up_name(r, "dot", WEAKER);
  if (is(tag, "ADD") && is(word, "/")) return look_up_name(r, "slash", WEAKER);
  if (is_symbol(word))
    return look_up_name(r, is(word, "%") ? "percent" : is(word, "&") ? "and" : is(word, "+") ? "plus" : "at", AS_IT_IS);
  if (is_abbreviation(word)) return spell(w, r->l, word);
  if (is(tag, "IN") && (word.size == 2 || (word.size == 3 && word.at[2] == '.')) && is_one_of(word.at[0], "vV") &&
      is_one_of(word.at[1], "sSſ"))
    return look_up_name(r, "versus", AS_IT_IS);
  string small = lower(w, word);
  /* An entry that is only in capitals counts for its own part of speech. */
  if (!is_same(word, small) && !is_same(word, capitalize(w, small)) && !is_same(word, upper(w, small))) return NONE;
  if (is(small, "a")) return decode_utf8(w, is(tag, "DT") ? "ɐ" : "ˈA");
  if (is(small, "am")) return am(r, word);
  if (is(small, "an")) return is(word, "AN") && begins_with(tag, "NN") ? spell(w, r->l, word) : decode_utf8(w, "ɐn");
  if (is(small, "i") && is(word, "I") && is(tag, "PRP")) return decode_utf8(w, "ˌI");
  if (is(small, "by") && is(class_of(w, tag), "ADV")) return decode_utf8(w, "bˈI");
  if (is(small, "to") && (!is(word, "TO") || is(tag, "TO") || is(tag, "IN"))) {
    if (r->after.vowel == PAUSE) return look_up(w, r->l, small, (string){0}, AS_IT_IS, NULL);
    return decode_utf8(w, r->after.vowel == VOWEL ? "tʊ" : "tə");
  }
  if (is(small, "in") && (!is(word, "IN") || !is(tag, "NNP")))
    return decode_utf8(w, r->after.vowel != PAUSE && is(tag, "IN") ? "ɪn" : "ˈɪn");
  if (is(small, "the") && (!is(word, "THE") || is(tag, "DT"))) return decode_utf8(w, r->after.vowel == VOWEL ? "ði" : "ðə");
  if (is(small, "used")) {
    int past_tense = (is(tag, "VBD") || is(tag, "JJ")) && r->after.to;
    return choose(w, find_entry(&r->l->gold, small), decode_utf8(w, past_tense ? "VBD" : "DEFAULT"), NULL);
  }
  return NONE;
}

/* Return whether an unknown word in capitals may be a known word; short names are not. */
static int is_capitalised(const reading *r, string word) {
  work *w = r->w;
  size_t letters = 0;
  for (size_t i = 0; i < word.size; ++i) {
    if (word.at[i] != '\'' && !is_alpha(word.at[i])) return 0;
    letters += word.at[i] != '\'';
  }
  if (word.size < 2 || !letters || is_same(word, lower(w, word)) || (is(r->tag, "NNP") && word.size <= 7)) return 0;
  string rest = slice(word, 1, word.size);
  return !has(w, r->l, word) && (is_same(word, upper(w, word)) || is_same(rest, lower(w, rest)));
}

static int knows_lower(const reading *r, string word) {
  return has(r->w, r->l, word) || with_s(r, word).size || with_ed(r, word).size || with_ing(r, word).size;
}

string read_word(work *w, lexicon *l, string word, string tag, context after, stress expected) {
  reading r = {w, l, tag, expected, after};
  string result = read_special(&r, word);
  if (!IS_NONE(result)) return result;
  if (is_capitalised(&r, word) && knows_lower(&r, lower(w, word))) word = lower(w, word);
  return read_entry(w, l, word, tag, after, expected);
}

string read_entry(work *w, lexicon *l, string word, string tag, context after, stress expected) {
  reading r = {w, l, tag, expected, after};
  string spellings[3] = {word};
  int count = 1;
  if (ends_with(word, "s'")) {
    spellings[count++] = with(w, end_cut(word, 2), "'s");
    spellings[count++] = end_cut(word, 1);
  } else if (ends_with(word, "'")) {
    spellings[count++] = end_cut(word, 1);
  }
  for (int i = 0; i < count; ++i)
    if (is_known(w, l, spellings[i])) return look_up(w, l, spellings[i], tag, expected, &after);
  string result = with_s(&r, word);
  if (!result.size) result = with_ed(&r, word);
  if (result.size) return result;
  if (expected == AS_IT_IS) r.wanted = SLIGHT;
  return with_ing(&r, word);
}
