/* Streams over bytes in memory. */
#ifndef KOKORO_SUPPORT_BYTES_IO_H
#define KOKORO_SUPPORT_BYTES_IO_H

#include <tvm/ffi/string.h>
#include <tvm/support/io.h>
#include <tvm/support/serializer.h>

#include <algorithm>
#include <string>

namespace tvm {
namespace support {

/* Reads bytes in place. */
class BytesInStream : public Stream {
 public:
  explicit BytesInStream(const std::string& bytes) : at_(bytes.data()), left_(bytes.size()) {}
  explicit BytesInStream(const ffi::Bytes& bytes) : at_(bytes.data()), left_(bytes.size()) {}
  using Stream::Read;
  using Stream::Write;
  size_t Read(void* bytes, size_t size) final {
    size = std::min(size, left_);
    std::copy_n(at_, size, static_cast<char*>(bytes));
    at_ += size;
    left_ -= size;
    return size;
  }
  size_t Write(const void*, size_t) final { return 0; }

 private:
  const char* at_;
  size_t left_;
};

/* Appends to a string. */
class BytesOutStream : public Stream {
 public:
  explicit BytesOutStream(std::string* out) : out_(out) {}
  using Stream::Read;
  using Stream::Write;
  size_t Read(void*, size_t) final { return 0; }
  size_t Write(const void* bytes, size_t size) final {
    out_->append(static_cast<const char*>(bytes), size);
    return size;
  }

 private:
  std::string* out_;
};

}  // namespace support
}  // namespace tvm

#endif
