/* Streams that encode their bytes as base64 in another stream: tensors in JSON. */
#ifndef KOKORO_SUPPORT_BASE64_H
#define KOKORO_SUPPORT_BASE64_H

#include <tvm/ffi/extra/base64.h>
#include <tvm/support/io.h>

#include <string>

#include "bytes_io.h"

namespace tvm {
namespace support {

/* Writes everything to the other stream at the end. */
class Base64OutStream : public Stream {
 public:
  explicit Base64OutStream(Stream* out) : out_(out) {}
  using Stream::Read;
  using Stream::Write;
  size_t Read(void*, size_t) final { return 0; }
  size_t Write(const void* bytes, size_t size) final {
    bytes_.append(static_cast<const char*>(bytes), size);
    return size;
  }
  void Finish() {
    ffi::String text = ffi::Base64Encode(TVMFFIByteArray{bytes_.data(), bytes_.size()});
    out_->Write(text.data(), text.size());
  }

 private:
  Stream* out_;
  std::string bytes_;
};

/* Reads all of the other stream at its first read. */
class Base64InStream : public Stream {
 public:
  explicit Base64InStream(Stream* in) : in_(in), stream_(bytes_) {}
  using Stream::Read;
  using Stream::Write;
  void InitPosition() {
    std::string text;
    for (char one; in_->Read(&one, 1) == 1;) text.push_back(one);
    bytes_ = ffi::Base64Decode(TVMFFIByteArray{text.data(), text.size()});
    stream_ = BytesInStream(bytes_);
  }
  size_t Read(void* bytes, size_t size) final { return stream_.Read(bytes, size); }
  size_t Write(const void*, size_t) final { return 0; }

 private:
  Stream* in_;
  ffi::Bytes bytes_;
  BytesInStream stream_;
};

}  // namespace support
}  // namespace tvm

#endif
