/* Allocator of tensors with the interface of posix_memalign and free. The C library's blocks have sizes of powers of
 * two and are never joined: utterances of many lengths would take twice the memory of the longest. */
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kPage = 65536;

using Blocks = std::map<uintptr_t, size_t>; /* address -> bytes */

Blocks vacant; /* no two of them are neighbours */
Blocks taken;

void vacate(uintptr_t address, size_t size) {
  auto after = vacant.lower_bound(address);
  if (after != vacant.end() && address + size == after->first) {
    size += after->second;
    after = vacant.erase(after);
  }
  if (after != vacant.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == address) {
      before->second += size;
      return;
    }
  }
  vacant.emplace_hint(after, address, size);
}

/* Return the smallest free block that is large enough. */
Blocks::iterator find(size_t size) {
  auto found = vacant.end();
  for (auto each = vacant.begin(); each != vacant.end(); ++each) {
    if (each->second >= size && (found == vacant.end() || each->second < found->second)) found = each;
  }
  return found;
}

/* Extend the memory by a block at its end. */
bool grow(size_t size) {
  size_t end = __builtin_wasm_memory_size(0) * kPage;
  if (!vacant.empty()) {
    auto last = std::prev(vacant.end());
    if (last->first + last->second == end) size -= last->second;
  }
  size_t pages = (size + kPage - 1) / kPage;
  size_t old = __builtin_wasm_memory_grow(0, pages);
  if (old == SIZE_MAX) return false;
  vacate(old * kPage, pages * kPage);
  return true;
}

}  // namespace

extern "C" int kokoro_take_block(void** out, size_t alignment, size_t size) {
  if (alignment > kAlignment) return EINVAL;
  if (size > SIZE_MAX - kPage) return ENOMEM;
  size = (size + kAlignment - 1) / kAlignment * kAlignment;
  if (size == 0) size = kAlignment;
  auto block = find(size);
  if (block == vacant.end()) {
    if (!grow(size)) return ENOMEM;
    block = find(size);
  }
  auto [address, room] = *block;
  vacant.erase(block);
  if (room > size) vacant.emplace(address + size, room - size);
  taken.emplace(address, size);
  *out = reinterpret_cast<void*>(address);
  return 0;
}

extern "C" void kokoro_give_block(void* data) {
  auto block = taken.find(reinterpret_cast<uintptr_t>(data));
  if (block == taken.end()) return; /* a null pointer */
  auto [address, size] = *block;
  taken.erase(block);
  vacate(address, size);
}
