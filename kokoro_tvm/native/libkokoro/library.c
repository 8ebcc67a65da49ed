/* The functions of kokoro.h for bundles and utterances, and the thread that computes. */
#include "library.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

static const float MOST_STYLE = 32; /* as in kokoro_tvm/runtime/speech/checks.py */

/* Compile only if the codes of base.h equal those of kokoro.h. */
typedef char equal_codes[(int)FAILURE_SYSTEM == KOKORO_SYSTEM && (int)FAILURE_INPUT == KOKORO_INPUT &&
                                 (int)FAILURE_BUNDLE == KOKORO_BUNDLE && (int)FAILURE_TOO_LONG == KOKORO_TOO_LONG
                             ? 1
                             : -1];

/* The only thread that calls compiled code: TVM keeps a pool of threads for each calling thread. */
typedef struct worker {
  struct worker *next; /* in the list of parked workers */
  pthread_t thread;
  pthread_mutex_t turn; /* held by the caller of a job */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  void (*job)(void *); /* NULL: idle */
  void *argument;
  int stops;
} worker;

static void *do_jobs(void *argument) {
  worker *w = argument;
  pthread_mutex_lock(&w->lock);
  for (;;) {
    while (!w->job && !w->stops) pthread_cond_wait(&w->changed, &w->lock);
    if (w->stops) break;
    w->job(w->argument);
    w->job = NULL;
    pthread_cond_broadcast(&w->changed);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

/* Workers of closed bundles on systems where threads must not end, guarded by `parking`. */
static pthread_mutex_t parking = PTHREAD_MUTEX_INITIALIZER;
static worker *parked;

static worker *unpark(void) { /* or NULL */
  pthread_mutex_lock(&parking);
  worker *result = parked;
  if (result) parked = result->next;
  pthread_mutex_unlock(&parking);
  return result;
}

static void park(worker *w) {
  pthread_mutex_lock(&parking);
  w->next = parked;
  parked = w;
  pthread_mutex_unlock(&parking);
}

static worker *start(void) { /* NULL: no memory, or no thread */
  worker *w = unpark();
  if (w || !(w = calloc(1, sizeof *w))) return w;
  if (pthread_mutex_init(&w->turn, NULL) == 0) {
    if (pthread_mutex_init(&w->lock, NULL) == 0) {
      if (pthread_cond_init(&w->changed, NULL) == 0) {
        if (pthread_create(&w->thread, NULL, do_jobs, w) == 0) return w;
        pthread_cond_destroy(&w->changed);
      }
      pthread_mutex_destroy(&w->lock);
    }
    pthread_mutex_destroy(&w->turn);
  }
  return free(w), NULL;
}

/* Run a job on the worker and wait for its end. */
static void run_job(worker *w, void (*job)(void *), void *argument) {
  pthread_mutex_lock(&w->turn);
  pthread_mutex_lock(&w->lock);
  w->argument = argument;
  w->job = job;
  pthread_cond_broadcast(&w->changed);
  while (w->job) pthread_cond_wait(&w->changed, &w->lock);
  pthread_mutex_unlock(&w->lock);
  pthread_mutex_unlock(&w->turn);
}

static void stop(worker *w) {
  if (os_threads_stay()) {
    park(w);
    return;
  }
  pthread_mutex_lock(&w->lock);
  w->stops = 1;
  pthread_cond_broadcast(&w->changed);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->lock);
  pthread_mutex_destroy(&w->turn);
  free(w);
}

int no_memory(kokoro_error *error) {
  if (error) error->code = KOKORO_SYSTEM, strcpy(error->text, "There is not enough memory.");
  return KOKORO_SYSTEM;
}

/* A job of the computing thread. */
typedef struct job {
  void (*body)(scope *, void *);
  void *argument;
  arena *kept;
  kokoro_error *error;
  int code;
} job;

/* Run the body of a job until it returns or fails, and release its scratch memory. */
static void attempt(void *argument) {
  job *j = argument;
  scope *s = calloc(1, sizeof *s);
  if (!s) {
    j->code = no_memory(j->error);
    return;
  }
  if (j->error) s->message = j->error->text, s->message_size = sizeof j->error->text;
  s->kept = j->kept;
  if (j->error) j->error->text[0] = 0;
  if (setjmp(s->failed) == 0) j->body(s, j->argument);
  j->code = s->code;
  if (j->error) j->error->code = s->code;
  release(&s->scratch);
  free(s);
}

/* A child process has no thread of its parent, so a job would never be done. */
static int is_forked(const kokoro *k, kokoro_error *error) {
  if (k->process == os_process()) return 0;
  if (error) {
    error->code = KOKORO_SYSTEM;
    strcpy(error->text, "This process was forked from the one that opened the bundle. Open it in this one.");
  }
  return 1;
}

int do_job(kokoro *k, void (*body)(scope *, void *), void *argument, arena *kept, kokoro_error *error) {
  job j = {body, argument, kept, error, 0};
  if (is_forked(k, error)) return KOKORO_SYSTEM;
  run_job(k->worker, attempt, &j);
  return j.code;
}

/* Arguments of a function of kokoro.h. */
typedef struct request {
  kokoro *k;
  utterance *u;
  const char *folder, *sha256, *voice; /* voice: a file, then its name */
  const kokoro_request *speech;
  uint64_t seed;
  const float *noise;
  size_t count;
  int threads;
} request;

static int choose_threads(scope *s, int threads) {
  char *value = os_variable("TVM_NUM_THREADS"), *end;
  if (value) give(s, &s->scratch, free, value);
  if (threads < 0 || threads > KOKORO_MOST_THREADS)
    fail(s, KOKORO_INPUT, "The threads should be 1 to %d, or 0 for the usual, but are %d.", KOKORO_MOST_THREADS, threads);
  if (threads || !value) return threads ? threads : usable_cores(s);
  long count = strtol(value, &end, 10);
  if (*end || count < 1 || count > KOKORO_MOST_THREADS)
    fail(s, KOKORO_INPUT, "TVM_NUM_THREADS should be a number of threads, 1 to %d, but is '%.40s'.", KOKORO_MOST_THREADS,
         value);
  return (int)count;
}

static void open_body(scope *s, void *argument) {
  request *r = argument;
  kokoro *k = r->k;
  if (!r->folder) fail(s, KOKORO_INPUT, "There is no folder of a bundle.");
  k->threads = choose_threads(s, r->threads);
  k->bundle = read_bundle(s, r->folder, r->sha256);
  check_cpu(s, k->bundle);
  open_files(s, k->bundle);
  open_voices(s, k);
  if (k->bundle->front_end.path) k->front_end = map_tensors(s, &k->bundle->front_end);
  load_runtime(s, k->bundle);
  use_threads(s, k->threads);
  load_components(s, k);
  const manifest *b = k->bundle;
  const char *gates = *b->not_run ? format(s, &s->scratch, "Nothing vouches for what %s says: its gates were not run (%s).",
                                           b->root, b->not_run)
                                  : "";
  const char *weights = b->synthetic ? format(s, &s->scratch, "%s was built from synthetic (random) weights: this is "
                                              "not speech.", b->root)
                                     : "";
  k->notice = format(s, s->kept, "%s%s%s", gates, *gates && *weights ? "\n" : "", weights);
}

static void close_job(void *argument) { release(&((kokoro *)argument)->kept); }

int kokoro_open(const char *folder, const char *sha256, int threads, kokoro **bundle, kokoro_error *error) {
  kokoro *k = calloc(1, sizeof *k);
  request r = {.k = k, .folder = folder, .sha256 = sha256, .threads = threads};
  *bundle = NULL;
  if (!k || !(k->worker = start())) {
    if (error) error->code = KOKORO_SYSTEM, strcpy(error->text, "There is no memory or no thread for a bundle.");
    free(k);
    return KOKORO_SYSTEM;
  }
  k->process = os_process();
  int code = do_job(k, open_body, &r, &k->kept, error);
  if (code) kokoro_close(k);
  else *bundle = k;
  return code;
}

void kokoro_close(kokoro *k) {
  if (!k || is_forked(k, NULL)) return; /* a child keeps its copy */
  run_job(k->worker, close_job, k);
  stop(k->worker);
  free(k);
}

static void add_voice_body(scope *s, void *argument) {
  request *r = argument;
  r->voice = add_voice(s, r->k, r->voice);
}

int kokoro_add_voice(kokoro *k, const char *path, const char **name, kokoro_error *error) {
  request r = {.k = k, .voice = path};
  if (name) *name = NULL;
  int code = do_job(k, add_voice_body, &r, &k->kept, error);
  if (name && !code) *name = r.voice;
  return code;
}

const char *check_speed(scope *s, double speed) {
  if (!isfinite(speed) || speed <= 0)
    fail(s, KOKORO_INPUT, "The speed should be a finite number above 0, such as 1.0, but is %g.", speed);
  if (speed >= SPEEDS_LOW && speed <= SPEEDS_HIGH) return NULL;
  return format(s, &s->scratch, "Speed %g is beyond what the model can say, %g to %g: sounds are lost or drawn out.", speed,
                SPEEDS_LOW, SPEEDS_HIGH);
}

static void predict_body(scope *s, void *argument) {
  request *r = argument;
  const kokoro_request *expected = r->speech;
  utterance *u = r->u;
  const char *notice = check_speed(s, expected->speed);
  size_t width = (size_t)(2 * r->k->bundle->style_dim);
  u->speed = expected->speed;
  u->style = take(s, &u->kept, width, sizeof *u->style);
  int64_t symbols = (int64_t)expected->token_count - 2;
  u->speech.notice = "";
  if (expected->phonemes) symbols = read_phonemes(s, r->k, u, expected->phonemes);
  else read_tokens(s, r->k, u, expected->tokens, expected->token_count);
  if (expected->style) memcpy(u->style, expected->style, width * sizeof *u->style);
  else read_style(s, r->k, u, expected->voice ? expected->voice : default_voice(r->k), symbols);
  for (size_t i = 0; i < width; ++i)
    if (!isfinite(u->style[i])) fail(s, KOKORO_INPUT, "The style should be finite, but number %zu is not.", i);
  for (size_t i = 0; i < width; ++i)
    if (fabsf(u->style[i]) > MOST_STYLE && expected->style)
      fail(s, KOKORO_INPUT, "The style cannot be spoken: it has the value %g, and voices have at most 3.2.", u->style[i]);
  if (notice)
    u->speech.notice = format(s, &u->kept, "%s%s%s", u->speech.notice, *u->speech.notice ? "\n" : "", notice);
  const float *durations = predict(s, r->k, u);
  int64_t *frames = take(s, &u->kept, u->token_count, sizeof *frames);
  for (size_t i = 0; i < u->token_count; ++i) frames[i] = frames_of(s, durations[i], u->speed);
  /* The marks at both ends are silent if they last as long as in training. A request of tokens is not changed. */
  for (size_t i = 0, last = u->token_count - 1; u->words && i <= last; i += last) {
    int64_t whole = frames_of(s, durations[i], 1);
    if (frames[i] > whole) frames[i] = whole;
  }
  set_durations(r->k, u, frames);
  check_frames(s, r->k, u);
  time_words(r->k, u, 0, (int64_t)u->speech.samples);
}

int kokoro_predict(kokoro *k, const kokoro_request *expected, kokoro_speech **speech, kokoro_error *error) {
  utterance *u = calloc(1, sizeof *u);
  request r = {.k = k, .u = u, .speech = expected};
  *speech = NULL;
  if (!u) return no_memory(error);
  int code = do_job(k, predict_body, &r, &u->kept, error);
  if (code) kokoro_free(&u->speech);
  else *speech = &u->speech;
  return code;
}

static void decode_body(scope *s, void *argument) {
  request *r = argument;
  r->u->speech.audio = NULL;
  decode(s, r->k, r->u, r->seed, r->noise, r->count);
}

int kokoro_decode(kokoro *k, kokoro_speech *speech, uint64_t seed, const float *noise, size_t count,
                  kokoro_error *error) {
  request r = {.k = k, .u = (utterance *)speech, .seed = seed, .noise = noise, .count = count};
  return do_job(k, decode_body, &r, &r.u->kept, error);
}

void kokoro_free(kokoro_speech *speech) {
  utterance *u = (utterance *)speech; /* its first member */
  if (!u) return;
  release(&u->kept);
  free(u);
}

const char *kokoro_notice(const kokoro *k) { return k->notice; }
int kokoro_sample_rate(const kokoro *k) { return (int)k->bundle->sample_rate; }
size_t kokoro_samples_per_frame(const kokoro *k) { return (size_t)k->bundle->samples_per_frame; }
size_t kokoro_style_dim(const kokoro *k) { return (size_t)k->bundle->style_dim; }
size_t kokoro_voice_count(const kokoro *k) { return (size_t)k->voices.count; }

const char *kokoro_voice_name(const kokoro *k, size_t index) {
  return index < kokoro_voice_count(k) ? k->voices.all[index].name : NULL;
}
