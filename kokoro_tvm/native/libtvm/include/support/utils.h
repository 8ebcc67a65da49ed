/* Conversion of words to numbers. */
#ifndef KOKORO_SUPPORT_UTILS_H
#define KOKORO_SUPPORT_UTILS_H

#include <algorithm>
#include <string>

namespace tvm {
namespace support {

/* Return whether a word consists of digits. */
inline bool IsNumber(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
}

}  // namespace support
}  // namespace tvm

#endif
