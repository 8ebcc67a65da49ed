#include "joint_ngrams.h"

#include <stdlib.h>
#include <string.h>

#include "inflate.h"
#include "lexicon.h"

enum { HEADER = 8, NODE_BYTES = 6, LONGEST = 8, HYPOTHESES = 32, MARGIN = 96 }; /* LONGEST: graphones of an n-gram */

/* A graphone of a hypothesis, and the one before it. */
typedef struct step {
  size_t before;
  uint32_t graphone;
} step;

/* A reading of the first letters. nodes: its last graphones as n-grams, the longest first. */
typedef struct hypothesis {
  int64_t cost;
  uint32_t nodes[LONGEST];
  int count, stressed;
  size_t last; /* index of its last step */
} hypothesis;

typedef struct candidate {
  int64_t cost;
  uint32_t hypothesis, graphone;
} candidate;

joint_ngrams open_joint_ngrams(scope *s, const tensors *file, int british) {
  const char *name = british ? "letters.gb" : "letters.us";
  const tensor *packed = get_tensor(s, file, name, "U8", 1);
  const uint8_t *at = packed->data;
  size_t left = (size_t)packed->size, nodes = 0, text = 0;
  for (int i = 0; i < 4 && left >= HEADER; ++i) nodes |= (size_t)at[i] << 8 * i, text |= (size_t)at[4 + i] << 8 * i;
  int good = left >= HEADER && nodes && text <= left - HEADER && nodes <= (left - HEADER) << 10; /* deflate's best ratio */
  joint_ngrams result = {0};
  if (good) {
    work w = WORK(s, s->kept);
    uint8_t *plain = room(&w, nodes, NODE_BYTES);
    uint32_t *first = room(&w, nodes + 1, sizeof *first);
    const uint16_t *children = (const uint16_t *)(const void *)plain;
    result.first = first;
    result.last = children + nodes;
    result.costs = plain + 4 * nodes;
    result.backoffs = result.costs + nodes;
    good = inflate(at + HEADER + text, left - HEADER - text, plain, NODE_BYTES * nodes) == NODE_BYTES * nodes;
    first[0] = 1;
    for (size_t i = 0; good && i < nodes; ++i) {
      first[i + 1] = first[i] + children[i];
      good = first[i + 1] <= nodes && first[i + 1] > i;
    }
    good = good && first[nodes] == nodes && first[1] > 1;
    char *utf8 = room(&w, text + 1, 1);
    memcpy(utf8, at + HEADER, text);
    string graphones = decode_utf8(&w, utf8);
    string *phonemes = room(&w, graphones.size + 1, sizeof *phonemes);
    int32_t *letters = room(&w, graphones.size + 1, sizeof *letters);
    for (size_t start = 0, end = 0; end <= graphones.size; start = ++end) {
      while (end < graphones.size && graphones.at[end] != '\n') ++end;
      letters[result.graphones] = end > start ? graphones.at[start] : 0;
      phonemes[result.graphones++] = slice(graphones, start + (end > start), end);
    }
    result.phonemes = phonemes;
    result.letters = letters;
    for (size_t i = 0; good && i < nodes; ++i) good = result.last[i] < result.graphones;
  }
  result.network = open_letter_network(s, file, british);
  good = good && result.network.graphones == result.graphones;
  if (!good) fail(s, FAILURE_BUNDLE, "The model `%s` of the front end is damaged. Build the bundle again.", name);
  return result;
}

/* Return the first child of a node whose graphone is not below another, or the end of its children. */
static uint32_t find_child(const joint_ngrams *from, uint32_t node, size_t graphone) {
  uint32_t low = from->first[node], high = from->first[node + 1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (from->last[middle] < graphone) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Return the number of the first graphone whose letter is not below another. */
static size_t first_graphone(const joint_ngrams *from, int32_t letter) {
  size_t low = 0, high = from->graphones;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (from->letters[middle] < letter) low = middle + 1;
    else high = middle;
  }
  return low;
}

static int by_cost(const void *a, const void *b) {
  const candidate *one = a, *other = b;
  if (one->cost != other->cost) return one->cost < other->cost ? -1 : 1;
  if (one->hypothesis != other->hypothesis) return one->hypothesis < other->hypothesis ? -1 : 1;
  return (one->graphone > other->graphone) - (one->graphone < other->graphone);
}

static int is_stressed(const joint_ngrams *from, uint32_t graphone) { return contains(from->phonemes[graphone], PRIMARY); }

/* Add the candidates of a hypothesis with graphones from `start` to `end`, which cost `more` besides the n-grams;
 * lower `limit` to what may still compete. */
static size_t add_candidates(const joint_ngrams *from, const hypothesis *all, uint32_t index, size_t start, size_t end,
                             const int32_t *more, uint8_t *seen, int64_t *limit, candidate *to, size_t count) {
  const hypothesis *h = &all[index];
  int64_t cost = h->cost;
  memset(seen, 0, end - start);
  for (int i = 0; i < h->count && cost <= *limit; cost += from->backoffs[h->nodes[i++]]) {
    uint32_t stop = from->first[h->nodes[i] + 1];
    for (uint32_t place = find_child(from, h->nodes[i], start); place < stop && from->last[place] < end; ++place) {
      uint32_t graphone = from->last[place];
      if (seen[graphone - start]++ || (h->stressed && is_stressed(from, graphone))) continue;
      int64_t total = cost + from->costs[place] + more[graphone - start];
      to[count++] = (candidate){total, index, graphone};
      if (total + MARGIN < *limit) *limit = total + MARGIN;
    }
  }
  return count;
}

/* Return a hypothesis with one more graphone; its step is missing. */
static hypothesis extended(const joint_ngrams *from, const hypothesis *before, const candidate *by) {
  hypothesis result = {.cost = by->cost, .stressed = before->stressed || is_stressed(from, by->graphone)};
  for (int i = 0; i < before->count && result.count < LONGEST - 1; ++i) {
    uint32_t place = find_child(from, before->nodes[i], by->graphone);
    int is_child = place < from->first[before->nodes[i] + 1] && from->last[place] == by->graphone;
    if (is_child && from->first[place] < from->first[place + 1]) result.nodes[result.count++] = place;
  }
  result.nodes[result.count++] = 0;
  return result;
}

string read_letters(work *w, const joint_ngrams *from, string letters) {
  hypothesis all[HYPOTHESES] = {{.nodes = {1, 0}, .count = 2}}, next[HYPOTHESES];
  LIST(step) steps = {0};
  size_t count = 1;
  candidate *candidates = room(w, HYPOTHESES * from->graphones, sizeof *candidates);
  uint8_t *seen = room(w, from->graphones, 1);
  int32_t *more = room(w, from->graphones, sizeof *more);
  const int32_t *states = letter_states(w, &from->network, letters);
  PUSH(w, steps, (step){0, 0});
  for (size_t letter = 0; letter <= letters.size; ++letter) {
    int32_t c = letter < letters.size ? letters.at[letter] : 0;
    size_t start = first_graphone(from, c), end = first_graphone(from, c + 1), found = 0, kept = 0;
    int64_t limit = INT64_MAX / 2;
    if (c) letter_costs(&from->network, states + letter * from->network.channels, start, end, more);
    else memset(more, 0, (end - start) * sizeof *more);
    for (size_t i = 0; i < count; ++i)
      found = add_candidates(from, all, (uint32_t)i, start, end, more, seen, &limit, candidates, found);
    if (found) qsort(candidates, found, sizeof *candidates, by_cost);
    for (size_t i = 0; i < found && kept < HYPOTHESES && candidates[i].cost <= limit; ++i) {
      const hypothesis *before = &all[candidates[i].hypothesis];
      hypothesis result = extended(from, before, &candidates[i]);
      size_t same = 0;
      while (same < kept && (next[same].nodes[0] != result.nodes[0] || next[same].stressed != result.stressed)) ++same;
      if (same < kept) continue;
      result.last = steps.count;
      PUSH(w, steps, (step){before->last, candidates[i].graphone});
      next[kept++] = result;
    }
    count = kept;
    memcpy(all, next, kept * sizeof *all);
  }
  if (!count) return NONE;
  size_t best = 0, length = 0;
  while (best < count && !all[best].stressed) ++best;
  best = best < count ? best : 0;
  for (size_t at = all[best].last; at; at = steps.all[at].before) length += from->phonemes[steps.all[at].graphone].size;
  int32_t *spoken = room(w, length + 1, sizeof *spoken), *end = spoken + length;
  for (size_t at = all[best].last; at; at = steps.all[at].before) {
    string sounds = from->phonemes[steps.all[at].graphone];
    end -= sounds.size;
    if (sounds.size) memcpy(end, sounds.at, sounds.size * sizeof *end);
  }
  string result = {spoken, length};
  if (!contains(result, PRIMARY)) result = restress(w, result, contains(result, SECONDARY) ? STRESSED : STRONG);
  return result.size ? result : NONE;
}
