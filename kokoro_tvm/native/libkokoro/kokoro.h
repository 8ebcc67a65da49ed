/**
 * @file kokoro.h
 * @brief libkokoro: speech from text or phonemes with a bundle that kokoro-tvm built.
 *
 *     kokoro *bundle;
 *     kokoro_speech *speech;
 *     kokoro_error error;
 *     kokoro_text text = {"Hello, [pause:0.5s] world.", "af_heart", 1.0, KOKORO_MARKUP};
 *     if (kokoro_open("artifacts/cpu", NULL, 0, &bundle, &error)) return puts(error.text), error.code;
 *     if (kokoro_say_text(bundle, &text, 0, &speech, &error)) ...
 *     fwrite(speech->audio, sizeof(float), speech->samples, file);
 *     kokoro_free(speech);
 *     kokoro_close(bundle);
 *
 * Text is UTF-8 and ends with a NUL. Any number of threads may use a bundle. Their requests are computed one after
 * the other, by a thread of the bundle and the threads that TVM adds to it. One thread at a time may use a speech.
 */
#ifndef KOKORO_H
#define KOKORO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef KOKORO_API /* the build of the library defines it for Windows; users need none */
#ifdef _WIN32
#define KOKORO_API
#else
#define KOKORO_API __attribute__((visibility("default")))
#endif
#endif

/** @brief Results of functions. Those up to KOKORO_BUNDLE are exit statuses of kokoro-tvm. */
enum {
  KOKORO_OK = 0,      /**< success */
  KOKORO_SYSTEM = 1,  /**< no memory, or no thread */
  KOKORO_INPUT = 2,   /**< the request cannot be spoken */
  KOKORO_BUNDLE = 5,  /**< the bundle is missing, damaged, of another version or for another machine */
  KOKORO_TOO_LONG = 6, /**< the utterance exceeds the largest bucket: divide it, or speak faster */
  KOKORO_NEEDS_TEXT = 7 /**< the next piece depends on text that has not come: kokoro_add_text */
};

/** @brief What is wrong, where, and what to do; empty after a success. Every function accepts NULL instead. */
typedef struct kokoro_error {
  int code;        /**< result of the function */
  char text[2044]; /**< UTF-8 */
} kokoro_error;

/** @brief An open bundle. */
typedef struct kokoro kokoro;

/** @brief An utterance: phonemes or tokens, in a voice or a style. Unused fields are NULL or 0, except speed. */
typedef struct kokoro_request {
  const char *phonemes;  /**< in the model's alphabet; unknown symbols are left out with a notice */
  const int64_t *tokens; /**< instead of phonemes: ids, with the 0 at both ends */
  size_t token_count;    /**< number of tokens */
  const char *voice;     /**< a name, or a mix such as "af_heart,am_adam" or "af_heart(2)+am_adam-bf_emma". Without a
                              voice and a style: af_heart, or the first voice of a bundle without that */
  const float *style;    /**< instead of a voice: 2 * style_dim numbers, one row of a voice's table */
  double speed;          /**< 1 is the model's speed, above is faster */
} kokoro_request;

/** @brief A word or a mark, and the range of its samples. */
typedef struct kokoro_word {
  const char *text;                 /**< phonemes */
  int64_t start_sample;             /**< first sample */
  int64_t end_sample;               /**< the one after the last */
  int spoken;                       /**< 0: a mark */
} kokoro_word;

/** @brief The range of bytes of a text that a word stands for. */
typedef struct kokoro_place {
  size_t start; /**< first byte */
  size_t end;   /**< the one after the last */
} kokoro_place;

/** @brief One utterance, or a whole text. Read-only. */
typedef struct kokoro_speech {
  size_t samples;             /**< number of samples, known before the audio */
  const float *audio;         /**< samples, which may exceed 1 in magnitude; NULL before kokoro_decode */
  const int64_t *durations;   /**< frames of every token, including the marks at both ends of an utterance */
  size_t token_count;         /**< number of tokens */
  const kokoro_word *words;   /**< none for a request of tokens */
  size_t word_count;          /**< number of words */
  const char *notice;         /**< one line for each omission, and for a speed outside 0.25 to 4; "" for none */
  const kokoro_place *places; /**< of the words; NULL unless the request was a text */
} kokoro_speech;

/** @brief What brackets and tags of a text are. */
enum {
  KOKORO_PLAIN = 0,    /**< text */
  KOKORO_MARKUP = 1,   /**< SSML if the text begins with `<speak`, else brackets such as [pause:0.5s] */
  KOKORO_BRACKETS = 2, /**< brackets */
  KOKORO_SSML = 3      /**< SSML */
};

/** @brief Kinds of text that can be left out, as a sum. Without KOKORO_OMIT_MATH, formulas of LaTeX are read in words. */
enum {
  KOKORO_OMIT_CITATIONS = 1, /**< references such as [3] and (Smith, 2019) */
  KOKORO_OMIT_CODE = 2,      /**< code between backticks and in fenced blocks */
  KOKORO_OMIT_MATH = 4,      /**< formulas of LaTeX */
  KOKORO_OMIT_NOTES = 8,     /**< foot notes and their marks */
  KOKORO_OMIT_ALL = 15       /**< all of them */
};

/** @brief A text in the language of its voice. It is read as Synthesizer of Python reads it without espeak-ng. */
typedef struct kokoro_text {
  const char *text;  /**< the text; NULL: it comes in portions, by kokoro_add_text */
  const char *voice; /**< a name, a mix or NULL, as in kokoro_request */
  double speed;      /**< 1 is the model's speed, above is faster */
  int markup;        /**< KOKORO_PLAIN, KOKORO_MARKUP, KOKORO_BRACKETS or KOKORO_SSML */
  int omit;          /**< kinds of text that are left out, a sum of KOKORO_OMIT_CITATIONS and so on; 0: none */
} kokoro_text;

/** @brief A text that is spoken piece by piece. */
typedef struct kokoro_plan kokoro_plan;

/** @brief Maximum number of threads of a bundle. A system limits threads, and TVM aborts if one cannot start. */
enum { KOKORO_MOST_THREADS = 1024 };

/**
 * @brief Open the bundle in a folder.
 *
 * Every file is compared with the manifest first, because the bundle's code is executed.
 * @param folder  the bundle
 * @param sha256  digest that bundle.json must have (64 hexadecimal digits), or NULL
 * @param threads 1 to KOKORO_MOST_THREADS, or 0 for TVM_NUM_THREADS of the environment, else the usable cores
 * @param bundle  gets the bundle, NULL after a failure
 * @param error   gets the failure, or NULL
 * @return KOKORO_OK, KOKORO_BUNDLE, KOKORO_INPUT (sha256, threads) or KOKORO_SYSTEM
 */
KOKORO_API int kokoro_open(const char *folder, const char *sha256, int threads, kokoro **bundle,
                           kokoro_error *error);

/**
 * @brief Close a bundle that no thread uses any more. Its speeches stay valid.
 * @param bundle the bundle, or NULL
 */
KOKORO_API void kokoro_close(kokoro *bundle);

/**
 * @brief Return warnings about the bundle, one per line.
 * @return "" if there are none
 */
KOKORO_API const char *kokoro_notice(const kokoro *bundle);

/** @brief Return the sample rate in Hz. */
KOKORO_API int kokoro_sample_rate(const kokoro *bundle);
/** @brief Return the samples of a frame, the unit of durations. */
KOKORO_API size_t kokoro_samples_per_frame(const kokoro *bundle);
/** @brief Return half the width of a style. */
KOKORO_API size_t kokoro_style_dim(const kokoro *bundle);

/** @brief Return the number of voices. */
KOKORO_API size_t kokoro_voice_count(const kokoro *bundle);
/**
 * @brief Return the name of a voice.
 * @param bundle an open bundle
 * @param index  in alphabetical order
 * @return NULL from kokoro_voice_count on
 */
KOKORO_API const char *kokoro_voice_name(const kokoro *bundle, size_t index);

/**
 * @brief Add the voice of a file to an open bundle.
 *
 * The file has little-endian float32 numbers: 510 rows of 2 * style_dim, or one row. It is read as data, and refused
 * if its size, its numbers or their norms are not those of a voice. Other threads may speak meanwhile, but not list
 * voices.
 * @param bundle an open bundle
 * @param path   file NAME.bin; NAME consists of letters, digits and _, and is new in the bundle
 * @param name   gets the voice's name, NULL after a failure; may be NULL
 * @param error  gets the failure, or NULL
 * @return KOKORO_OK, KOKORO_INPUT or KOKORO_SYSTEM
 */
KOKORO_API int kokoro_add_voice(kokoro *bundle, const char *path, const char **name, kokoro_error *error);

/**
 * @brief Predict the duration of every token, and with it the times of words and the number of samples.
 *
 * Phonemes are spoken as one utterance of Synthesizer.from_phonemes of Python, tokens as Synthesizer.run speaks them.
 * @param bundle an open bundle
 * @param request phonemes or tokens, and how to speak them
 * @param speech gets the speech without audio, NULL after a failure
 * @param error  gets the failure, or NULL
 * @return KOKORO_OK or any other code
 */
KOKORO_API int kokoro_predict(kokoro *bundle, const kokoro_request *request, kokoro_speech **speech,
                              kokoro_error *error);

/**
 * @brief Compute the audio of a speech that the same bundle predicted.
 * @param bundle an open bundle
 * @param speech gets the audio; it has none after a failure
 * @param seed   seed of the noise; the same seed gives the same noise in Python
 * @param noise  instead of a seed: standard normal numbers, one per sample; NULL with a seed
 * @param count  number of them
 * @param error  gets the failure, or NULL
 * @return KOKORO_OK, KOKORO_INPUT (noise), KOKORO_BUNDLE or KOKORO_SYSTEM
 */
KOKORO_API int kokoro_decode(kokoro *bundle, kokoro_speech *speech, uint64_t seed, const float *noise, size_t count,
                             kokoro_error *error);

/**
 * @brief Speak a text.
 *
 * The audio equals that of Synthesizer of Python, sample for sample. A text beyond the largest bucket is divided.
 * @param bundle an open bundle
 * @param text   the text, and how to speak it
 * @param seed   seed of the noise
 * @param speech gets the speech with audio and places of words, NULL after a failure
 * @param error  gets the failure, or NULL
 * @return KOKORO_OK, KOKORO_INPUT (nothing to speak, invalid markup, or a language that is not read) or any other code
 *         except KOKORO_TOO_LONG
 */
KOKORO_API int kokoro_say_text(kokoro *bundle, const kokoro_text *text, uint64_t seed, kokoro_speech **speech,
                               kokoro_error *error);

/**
 * @brief Begin a text that is spoken piece by piece, so that the first piece is heard early.
 * @param bundle stays open until kokoro_free_plan
 * @param text   the text, and how to speak it
 * @param plan   gets the plan, NULL after a failure
 * @param error  gets the failure, or NULL
 * @return see kokoro_say_text
 */
KOKORO_API int kokoro_plan_text(kokoro *bundle, const kokoro_text *text, kokoro_plan **plan, kokoro_error *error);

/**
 * @brief Append text to a plan whose text comes in portions.
 *
 * A portion may end anywhere, also within a character or a bracket. The speech does not depend on the portions.
 * @param plan   of kokoro_plan_text
 * @param text   UTF-8; NULL ends the text
 * @param error  gets the failure, or NULL
 * @return KOKORO_OK, KOKORO_INPUT (no UTF-8) or KOKORO_SYSTEM
 */
KOKORO_API int kokoro_add_text(kokoro_plan *plan, const char *text, kokoro_error *error);

/**
 * @brief Predict the next piece of a text.
 *
 * kokoro_decode computes its audio with a seed. All pieces in order are the speech: the silence between them is at their
 * ends. A long first utterance, which kokoro_say_text speaks whole, comes in two pieces. Times of words count from the
 * beginning of the piece.
 * @param plan   of kokoro_plan_text
 * @param speech gets the piece without audio, NULL after the last one
 * @param error  gets the failure, or NULL
 * @return KOKORO_NEEDS_TEXT if it depends on text that has not come, or see kokoro_say_text. After another failure, the plan
 *         has ended.
 */
KOKORO_API int kokoro_next_piece(kokoro_plan *plan, kokoro_speech **speech, kokoro_error *error);

/** @brief Return the notices of the last call of kokoro_next_piece, also after the last piece. */
KOKORO_API const char *kokoro_plan_notice(const kokoro_plan *plan);

/** @brief Free a plan, or NULL. Its speeches stay valid. */
KOKORO_API void kokoro_free_plan(kokoro_plan *plan);

/** @brief Free a speech, or NULL. */
KOKORO_API void kokoro_free(kokoro_speech *speech);

#ifdef __cplusplus
}
#endif

#endif
