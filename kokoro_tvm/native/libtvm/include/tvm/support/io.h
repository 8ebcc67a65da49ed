/* A stream of bytes, and functions that write and read values. */
#ifndef KOKORO_TVM_SUPPORT_IO_H
#define KOKORO_TVM_SUPPORT_IO_H

#include <cstddef>

namespace tvm {
namespace support {

template <typename T>
struct Serializer;

class Stream {
 public:
  virtual ~Stream() = default;
  /* Read bytes; return their number, which is less than `size` only at the end. */
  virtual size_t Read(void* bytes, size_t size) = 0;
  /* Write bytes; return their number. */
  virtual size_t Write(const void* bytes, size_t size) = 0;

  template <typename T>
  void Write(const T& value) {
    Serializer<T>::Write(this, value);
  }
  /* Read a value; return whether it was complete. */
  template <typename T>
  bool Read(T* value) {
    return Serializer<T>::Read(this, value);
  }
  template <typename T>
  void WriteArray(const T* values, size_t count) {
    for (size_t i = 0; i < count; ++i) Write<T>(values[i]);
  }
  template <typename T>
  bool ReadArray(T* values, size_t count) {
    for (size_t i = 0; i < count; ++i)
      if (!Read<T>(&values[i])) return false;
    return true;
  }
};

}  // namespace support
}  // namespace tvm

#endif
