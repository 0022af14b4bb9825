#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)

namespace trifuse {

/// Allocates `bytes` zeros, in large pages if the system supports them. For a large array the system provides pages of
/// zeros when they are first used, so this function takes no time. Throws std::bad_alloc.
void* allocate_zeros(std::size_t bytes);
/// Makes the system provide the pages of memory of allocate_zeros() now, and leaves its numbers as they are. Other
/// threads may use the memory meanwhile. The system may ignore this.
void fetch_pages(void* memory, std::size_t bytes);
/// Frees the memory of allocate_zeros().
void free_zeros(void* memory);

/// An allocator whose elements are zeros without being written. So the threads that use an array first also fetch its
/// pages, instead of one thread that fills it.
template <typename T>
struct ZeroPages {
  using value_type = T;
  static_assert(std::is_trivially_destructible_v<T>);

  ZeroPages() = default;
  template <typename U>
  ZeroPages(const ZeroPages<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_zeros(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) { free_zeros(memory); }
  /// Leaves the zeros of a new element as they are.
  template <typename U>
  void construct(U* element) {
    ::new (static_cast<void*>(element)) U;
  }
  template <typename U, typename Value>
  void construct(U* element, const Value& value) {
    ::new (static_cast<void*>(element)) U(value);
  }
  bool operator==(const ZeroPages&) const { return true; }
};

/// A vector of numbers that are zero until they are set. It must not grow: elements that take the memory of others are
/// not set to zero again.
template <typename T>
using ZeroedVector = std::vector<T, ZeroPages<T>>;

}

#pragma GCC visibility pop
