/* Addon of Node-API that speaks: speak(bundle, phonemes, voice, speed, seed) -> {audio: Float32Array, words: [{text,
 * start, end}]}. */
#include <node_api.h>
#include <stdlib.h>
#include <string.h>

#include "kokoro.h"

static char *text_of(napi_env env, napi_value value) {
  size_t size = 0;
  napi_get_value_string_utf8(env, value, NULL, 0, &size);
  char *text = calloc(1, size + 1);
  napi_get_value_string_utf8(env, value, text, size + 1, &size);
  return text;
}

static void set(napi_env env, napi_value object, const char *name, napi_value value) {
  napi_set_named_property(env, object, name, value);
}

static napi_value result_of(napi_env env, const kokoro_speech *speech) {
  napi_value result, buffer, audio, words, word, value;
  void *bytes;
  napi_create_object(env, &result);
  napi_create_arraybuffer(env, speech->samples * sizeof(float), &bytes, &buffer);
  memcpy(bytes, speech->audio, speech->samples * sizeof(float));
  napi_create_typedarray(env, napi_float32_array, speech->samples, buffer, 0, &audio);
  napi_create_array_with_length(env, speech->word_count, &words);
  for (size_t i = 0; i < speech->word_count; ++i) {
    napi_create_object(env, &word);
    napi_create_string_utf8(env, speech->words[i].text, NAPI_AUTO_LENGTH, &value);
    set(env, word, "text", value);
    napi_create_int64(env, speech->words[i].start_sample, &value);
    set(env, word, "start", value);
    napi_create_int64(env, speech->words[i].end_sample, &value);
    set(env, word, "end", value);
    napi_set_element(env, words, (uint32_t)i, word);
  }
  set(env, result, "audio", audio);
  set(env, result, "words", words);
  return result;
}

static napi_value speak(napi_env env, napi_callback_info info) {
  napi_value values[5], result = NULL;
  size_t count = 5;
  int64_t seed = 0;
  kokoro *bundle = NULL;
  kokoro_speech *speech = NULL;
  kokoro_error error = {0, ""};
  napi_get_cb_info(env, info, &count, values, NULL, NULL);
  if (count != 5) return napi_throw_type_error(env, NULL, "speak takes five arguments"), NULL;
  char *texts[3];
  for (int i = 0; i < 3; ++i) texts[i] = text_of(env, values[i]);
  kokoro_request request = {texts[1], NULL, 0, texts[2], NULL, 0};
  napi_get_value_double(env, values[3], &request.speed);
  napi_get_value_int64(env, values[4], &seed);
  if (kokoro_open(texts[0], NULL, 0, &bundle, &error) || kokoro_predict(bundle, &request, &speech, &error) ||
      kokoro_decode(bundle, speech, (uint64_t)seed, NULL, 0, &error))
    napi_throw_error(env, NULL, error.text);
  else
    result = result_of(env, speech);
  kokoro_free(speech);
  kokoro_close(bundle);
  for (int i = 0; i < 3; ++i) free(texts[i]);
  return result;
}

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "speak", NAPI_AUTO_LENGTH, speak, NULL, &function);
  set(env, exports, "speak", function);
  return exports;
}
