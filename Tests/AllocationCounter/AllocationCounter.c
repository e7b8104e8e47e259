#include "AllocationCounter.h"

#include <stdatomic.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

// The headers of glibc say that they are glibc's; those of Musl and Android say nothing.
#if defined(__linux__) && defined(__GLIBC__) && !defined(HAS_SANITIZER)
#define CAN_COUNT 1
#endif

static atomic_bool is_counting;
static _Atomic int64_t count;

bool allocation_counter_is_available(void) {
#if defined(CAN_COUNT)
  return true;
#else
  return false;
#endif
}

void allocation_counter_begin(void) {
  atomic_store(&count, 0);
  atomic_store(&is_counting, true);
}

int64_t allocation_counter_end(void) {
  atomic_store(&is_counting, false);
  return atomic_load(&count);
}

#if defined(CAN_COUNT)

#include <errno.h>
#include <malloc.h>

// glibc's functions, by the names that they have for those who define the others.
extern void *__libc_malloc(size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

// While nothing counts, a load and the detour: about 3 ns, on both sides of a comparison.
static inline void note(void) {
  if (__builtin_expect(atomic_load_explicit(&is_counting, memory_order_relaxed), false)) {
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
  }
}

// Not calloc: nothing of Swift's calls it. libdispatch does, for what it puts into its queues, which each thread keeps to use again.
// How often depends on which thread runs what. The block that goes into the queue is counted: it is allocated by malloc.

void *malloc(size_t size) {
  note();
  return __libc_malloc(size);
}

void *realloc(void *block, size_t size) {
  note();
  return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  note();
  return __libc_memalign(alignment, size);
}

// Swift on Linux has locks allocated by it.
int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment == 0 || alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  note();
  // This function tells the error by its result alone.
  int before = errno;
  void *block = __libc_memalign(alignment, size);
  errno = before;
  if (block == NULL) return ENOMEM;
  *result = block;
  return 0;
}

#endif
