// Detection of two threads at one element of shared memory between two barriers, one of them writing it.
#pragma once
#include "group.h"

#define SHARED(T, name, count, start) group::Watched<T> name(here, start, #name)
#define SHARED_AS(T, name) name.as<T>()

namespace group {

constexpr int kNobody = -1;

// Users of an element in a stretch between barriers: the last writer, and up to two readers.
struct Touch {
  unsigned stretch;
  int writer, reader, another;
};

inline void watch(Group* group) {
  free(group->touches);
  group->touches = static_cast<Touch*>(calloc(group->shared_bytes, sizeof(Touch)));
}

template <class T>
class Watched {
 public:
  Watched(const Thread& here, size_t start, const char* name)
      : here_(here),
        start_(start),
        values_(reinterpret_cast<T*>(here.group->shared + start)),
        touches_(here.group->touches + start),
        name_(name) {}

  class Element {
   public:
    Element(const Watched array, long index) : array_(array), index_(index) {}
    operator T() const {
      array_.touch(index_, false);
      return array_.values_[index_];
    }
    Element& operator=(T value) {
      array_.touch(index_, true);
      array_.values_[index_] = value;
      return *this;
    }
    Element& operator=(const Element& other) { return *this = T(other); }

   private:
    const Watched array_;
    long index_;
  };

  Element operator[](long index) const { return {*this, index}; }

  template <class Other>
  Watched<Other> as() const {
    static_assert(sizeof(Other) == sizeof(T), "elements of another size are not watched");
    return {here_, start_, name_};
  }

 private:
  void touch(long index, bool writes) const {
    Touch& touch = touches_[index * long(sizeof(T))];
    const int me = here_.number;
    if (touch.stretch != here_.group->stretch) touch = {here_.group->stretch, kNobody, kNobody, kNobody};
    int other = touch.writer != me ? touch.writer : kNobody;
    if (writes && other == kNobody) other = touch.reader != me ? touch.reader : touch.another;
    if (other != kNobody)
      fail(here_.group, "threads %d and %d are both at element %ld of the shared array %s, and one writes it", other, me,
           index, name_);
    if (writes)
      touch.writer = me;
    else if (touch.reader == kNobody)
      touch.reader = me;
    else if (touch.reader != me)
      touch.another = me;
  }

  const Thread& here_;
  size_t start_;
  T* values_;
  Touch* touches_;
  const char* name_;
};

}  // namespace group
