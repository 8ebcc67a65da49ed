// Writes a value of every kind that TVM's sources put into streams, reads all back, and prints the bytes.
#include <tvm/ffi/dtype.h>
#include <tvm/support/io.h>
#include <tvm/support/serializer.h>

#include <cstdio>

#include "../support/base64.h"
#include "../support/bytes_io.h"
#include "../support/utils.h"

using namespace tvm;

static void expect(bool holds, const char* what) {
  if (!holds) std::exit((std::fprintf(stderr, "not so: %s\n", what), 1));
}

int main() {
  std::string bytes;
  support::BytesOutStream out(&bytes);
  const int64_t shape[] = {3, -1};
  out.Write<int32_t>(7);
  out.Write(std::string("abc"));
  out.Write(ffi::String(""));
  out.Write(std::vector<std::string>{"x", ""});
  out.Write(std::vector<int64_t>{258});
  out.Write(ffi::Array<ffi::String>{"yz"});
  out.Write(DLDataType{2, 32, 1});
  out.WriteArray(shape, 2);
  for (unsigned char byte : bytes) std::printf("%02x", byte);
  std::printf("\n");

  support::BytesInStream in(bytes);
  int32_t number;
  std::string text;
  ffi::String word;
  std::vector<std::string> words;
  std::vector<int64_t> numbers;
  ffi::Array<ffi::String> array;
  DLDataType type;
  int64_t extents[2], more;
  expect(in.Read(&number) && number == 7, "a number");
  expect(in.Read(&text) && text == "abc", "a text");
  expect(in.Read(&word) && word.empty(), "an empty text");
  expect(in.Read(&words) && words == std::vector<std::string>{"x", ""}, "texts");
  expect(in.Read(&numbers) && numbers == std::vector<int64_t>{258}, "numbers");
  expect(in.Read(&array) && array.size() == 1 && array[0] == "yz", "an array");
  expect(in.Read(&type) && type.code == 2 && type.bits == 32 && type.lanes == 1, "a type");
  expect(in.ReadArray(extents, 2) && extents[0] == 3 && extents[1] == -1, "extents");
  expect(!in.Read(&more) && in.Read(&more, 1) == 0, "the end");

  for (size_t size = 0; size < bytes.size(); ++size) {  // of a text whose end is missing
    std::string part = bytes.substr(4, size);
    support::BytesInStream cut(part);
    expect(cut.Read(&text) == (size >= 11), "a text that is whole");
  }

  std::string encoded;
  support::BytesOutStream below(&encoded);
  support::Base64OutStream encoder(&below);
  encoder.Write(std::string("any text"));
  encoder.Finish();
  std::printf("%s\n", encoded.c_str());
  support::BytesInStream again(encoded);
  support::Base64InStream decoder(&again);
  decoder.InitPosition();
  expect(decoder.Read(&text) && text == "any text" && !decoder.Read(&text), "base64");

  expect(support::IsNumber("012") && !support::IsNumber("") && !support::IsNumber("1a") && !support::IsNumber("-1"),
         "numbers in words");
  return 0;
}
