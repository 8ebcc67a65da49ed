// Speaks from C++: BUNDLE PHONEMES VOICE SPEED SEED OUT, a file of float32 numbers.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>

#include "kokoro.h"

namespace {
kokoro_error error;

void check(int code) {
  if (code != KOKORO_OK) throw std::runtime_error(error.text);
}
}  // namespace

int main(int count, char **words) try {
  if (count != 7) return KOKORO_INPUT;
  kokoro *handle = nullptr;
  check(kokoro_open(words[1], nullptr, 0, &handle, &error));
  std::unique_ptr<kokoro, void (*)(kokoro *)> bundle(handle, kokoro_close);
  kokoro_request request = {words[2], nullptr, 0, words[3], nullptr, std::atof(words[4])};
  kokoro_speech *said = nullptr;
  check(kokoro_predict(handle, &request, &said, &error));
  std::unique_ptr<kokoro_speech, void (*)(kokoro_speech *)> speech(said, kokoro_free);
  check(kokoro_decode(handle, said, std::stoull(words[5]), nullptr, 0, &error));
  std::ofstream(words[6], std::ios::binary)
      .write(reinterpret_cast<const char *>(speech->audio), speech->samples * sizeof(float));
  for (size_t i = 0; i < speech->word_count; ++i)
    std::cout << speech->words[i].start_sample << ' ' << speech->words[i].end_sample << ' ' << speech->words[i].text << '\n';
} catch (const std::exception &problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
