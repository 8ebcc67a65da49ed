/* Format of values in a stream: plain ones as in memory (little-endian), others after a 64-bit count. */
#ifndef KOKORO_TVM_SUPPORT_SERIALIZER_H
#define KOKORO_TVM_SUPPORT_SERIALIZER_H

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/endian.h>
#include <tvm/ffi/string.h>
#include <tvm/support/io.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace tvm {
namespace support {

static_assert(TVM_FFI_IO_NO_ENDIAN_SWAP, "only little-endian machines are known");

template <typename T>
struct Serializer {
  static_assert(std::is_trivially_copyable<T>::value, "a type that is not known in streams");
  static void Write(Stream* stream, const T& value) { stream->Write(static_cast<const void*>(&value), sizeof value); }
  static bool Read(Stream* stream, T* value) {
    return stream->Read(static_cast<void*>(value), sizeof *value) == sizeof *value;
  }
};

template <>
struct Serializer<std::string> {
  static void Write(Stream* stream, const std::string& value) {
    stream->Write<uint64_t>(value.size());
    stream->Write(value.data(), value.size());
  }
  static bool Read(Stream* stream, std::string* value) {
    uint64_t size;
    if (!stream->Read(&size)) return false;
    value->resize(size);
    return stream->Read(&(*value)[0], size) == size;
  }
};

template <>
struct Serializer<ffi::String> {
  static void Write(Stream* stream, const ffi::String& value) { stream->Write<std::string>(value); }
  static bool Read(Stream* stream, ffi::String* value) {
    std::string text;
    if (!stream->Read(&text)) return false;
    *value = text;
    return true;
  }
};

template <typename T>
struct Serializer<std::vector<T>> {
  static void Write(Stream* stream, const std::vector<T>& values) {
    stream->Write<uint64_t>(values.size());
    stream->WriteArray(values.data(), values.size());
  }
  static bool Read(Stream* stream, std::vector<T>* values) {
    uint64_t count;
    if (!stream->Read(&count)) return false;
    values->resize(count);
    return stream->ReadArray(values->data(), count);
  }
};

template <typename T>
struct Serializer<ffi::Array<T>> {
  static void Write(Stream* stream, const ffi::Array<T>& values) {
    stream->Write(std::vector<T>(values.begin(), values.end()));
  }
  static bool Read(Stream* stream, ffi::Array<T>* values) {
    std::vector<T> read;
    if (!stream->Read(&read)) return false;
    *values = ffi::Array<T>(read.begin(), read.end());
    return true;
  }
};

}  // namespace support
}  // namespace tvm

#endif
