#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

// Counts how often this process allocates memory, in all of its threads, for the benchmarks.
//
// On Linux with glibc, an executable that links this has functions such as malloc of its own, which the libraries that it loads call,
// too: each calls that of glibc, and adds one while something counts. There are none on other platforms, nor with a sanitizer, which
// brings its own: nothing is counted there.

#include <stdbool.h>
#include <stdint.h>

/// Whether allocations can be counted here.
bool allocation_counter_is_available(void);

/// Begins to count, from 0. Only one counts at a time.
void allocation_counter_begin(void);

/// Ends what began, and tells how many allocations there were.
int64_t allocation_counter_end(void);

#endif
