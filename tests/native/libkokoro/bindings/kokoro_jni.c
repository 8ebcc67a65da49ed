/* Native methods of Kokoro.java. Strings are UTF-8; arguments end with a 0. */
#include <jni.h>
#include <stdint.h>
#include <string.h>

#include "kokoro.h"

static jbyteArray bytes_of(JNIEnv *env, const char *text) {
  jsize size = (jsize)strlen(text);
  jbyteArray made = (*env)->NewByteArray(env, size);
  if (made) (*env)->SetByteArrayRegion(env, made, 0, size, (const jbyte *)text);
  return made;
}

/* Throw an exception. */
static void fail(JNIEnv *env, jclass kokoro, const kokoro_error *error) {
  jmethodID method = (*env)->GetStaticMethodID(env, kokoro, "fail", "([B)V");
  (*env)->CallStaticVoidMethod(env, kokoro, method, bytes_of(env, error->text));
}

JNIEXPORT jlong JNICALL Java_Kokoro_open(JNIEnv *env, jclass class, jbyteArray folder) {
  jbyte *text = (*env)->GetByteArrayElements(env, folder, NULL);
  kokoro *bundle;
  kokoro_error error;
  if (kokoro_open((const char *)text, NULL, 0, &bundle, &error)) fail(env, class, &error);
  (*env)->ReleaseByteArrayElements(env, folder, text, JNI_ABORT);
  return (jlong)(intptr_t)bundle;
}

JNIEXPORT jlong JNICALL Java_Kokoro_plan(JNIEnv *env, jclass class, jlong bundle, jbyteArray text, jbyteArray voice,
                                         jdouble speed) {
  jbyte *texts[] = {(*env)->GetByteArrayElements(env, text, NULL), (*env)->GetByteArrayElements(env, voice, NULL)};
  kokoro_text request = {(const char *)texts[0], (const char *)texts[1], speed, KOKORO_PLAIN, 0};
  kokoro_plan *plan;
  kokoro_error error;
  int code = kokoro_plan_text((kokoro *)(intptr_t)bundle, &request, &plan, &error);
  (*env)->ReleaseByteArrayElements(env, text, texts[0], JNI_ABORT);
  (*env)->ReleaseByteArrayElements(env, voice, texts[1], JNI_ABORT);
  if (code) fail(env, class, &error);
  return (jlong)(intptr_t)plan;
}

static jobject spoken_of(JNIEnv *env, const kokoro_speech *speech) {
  jsize count = (jsize)speech->word_count;
  jclass class = (*env)->FindClass(env, "Kokoro$Spoken");
  jfloatArray audio = (*env)->NewFloatArray(env, (jsize)speech->samples);
  jlongArray numbers = (*env)->NewLongArray(env, 4 * count);
  jobjectArray phonemes = (*env)->NewObjectArray(env, count, (*env)->FindClass(env, "[B"), NULL);
  if (!audio || !numbers || !phonemes) return NULL; /* the exception has been thrown */
  (*env)->SetFloatArrayRegion(env, audio, 0, (jsize)speech->samples, speech->audio);
  for (jsize i = 0; i < count; ++i) {
    const kokoro_word *word = &speech->words[i];
    const kokoro_place *place = &speech->places[i];
    jlong four[] = {word->start_sample, word->end_sample, (jlong)place->start, (jlong)place->end};
    jbyteArray own = bytes_of(env, word->text);
    (*env)->SetLongArrayRegion(env, numbers, 4 * i, 4, four);
    (*env)->SetObjectArrayElement(env, phonemes, i, own);
    (*env)->DeleteLocalRef(env, own);
  }
  jmethodID make = (*env)->GetMethodID(env, class, "<init>", "([F[J[[B)V");
  return (*env)->NewObject(env, class, make, audio, numbers, phonemes);
}

JNIEXPORT jobject JNICALL Java_Kokoro_next(JNIEnv *env, jclass class, jlong bundle, jlong plan, jlong seed) {
  kokoro_speech *piece = NULL;
  kokoro_error error;
  jobject spoken = NULL;
  int code = kokoro_next_piece((kokoro_plan *)(intptr_t)plan, &piece, &error);
  if (!code && piece) code = kokoro_decode((kokoro *)(intptr_t)bundle, piece, (uint64_t)seed, NULL, 0, &error);
  if (code) fail(env, class, &error);
  else if (piece) spoken = spoken_of(env, piece);
  kokoro_free(piece);
  return spoken;
}

JNIEXPORT void JNICALL Java_Kokoro_free(JNIEnv *env, jclass class, jlong plan) {
  (void)env, (void)class;
  kokoro_free_plan((kokoro_plan *)(intptr_t)plan);
}

JNIEXPORT void JNICALL Java_Kokoro_close(JNIEnv *env, jclass class, jlong bundle) {
  (void)env, (void)class;
  kokoro_close((kokoro *)(intptr_t)bundle);
}
