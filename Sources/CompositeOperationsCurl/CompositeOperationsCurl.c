#include "CompositeOperationsCurl.h"

#if defined(__linux__)

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

// MARK: Finding

// The parts of the structures of libcurl and zlib that are looked at.

struct version_info {
  int age;
  const char *version;
  unsigned int version_num;
};

struct message {
  int msg;
  void *easy;
  union {
    void *whatever;
    int result;
  } data;
};

struct z_stream {
  const uint8_t *next_in;
  unsigned int avail_in;
  unsigned long total_in;
  uint8_t *next_out;
  unsigned int avail_out;
  unsigned long total_out;
  const char *msg;
  void *state;
  void *zalloc, *zfree, *opaque;
  int data_type;
  unsigned long adler, reserved;
};

static struct {
  int (*global_init)(long flags);
  struct version_info *(*version_info)(int now);
  void *(*easy_init)(void);
  void (*easy_cleanup)(void *);
  int (*easy_setopt)(void *, int, ...);
  int (*easy_pause)(void *, int);
  void *(*slist_append)(void *, const char *);
  void (*slist_free_all)(void *);
  void *(*multi_init)(void);
  int (*multi_cleanup)(void *);
  int (*multi_setopt)(void *, int, ...);
  int (*multi_add_handle)(void *, void *);
  int (*multi_remove_handle)(void *, void *);
  int (*multi_socket_action)(void *, int, int, int *);
  struct message *(*multi_info_read)(void *, int *);
} curl;

static struct {
  const char *(*version)(void);
  int (*inflate_init)(struct z_stream *, int, const char *, int);
  int (*inflate)(struct z_stream *, int);
  int (*inflate_reset)(struct z_stream *);
  int (*inflate_end)(struct z_stream *);
} zlib;

static unsigned int version_number;
static const char *version = "";

// In what is loaded already. The library is asked for by name only if the program has linked it so that its names are not
// visible; it is never loaded anew, since a second one would not be the one that Foundation has set up.
static void *find(const char *name, const char *library) {
  void *function = dlsym(RTLD_DEFAULT, name);
  if (function) return function;
  void *loaded = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (!loaded) return NULL;
  function = dlsym(loaded, name);
  dlclose(loaded);
  return function;
}

#define FIND(table, field, name, library)                     \
  do {                                                        \
    void *function = find(name, library);                     \
    if (!function) return false;                              \
    memcpy(&table.field, &function, sizeof function);         \
  } while (0)

bool composite_operations_curl_load(void) {
  static const char *const library = "libcurl.so.4";
  FIND(curl, global_init, "curl_global_init", library);
  FIND(curl, version_info, "curl_version_info", library);
  FIND(curl, easy_init, "curl_easy_init", library);
  FIND(curl, easy_cleanup, "curl_easy_cleanup", library);
  FIND(curl, easy_setopt, "curl_easy_setopt", library);
  FIND(curl, easy_pause, "curl_easy_pause", library);
  FIND(curl, slist_append, "curl_slist_append", library);
  FIND(curl, slist_free_all, "curl_slist_free_all", library);
  FIND(curl, multi_init, "curl_multi_init", library);
  FIND(curl, multi_cleanup, "curl_multi_cleanup", library);
  FIND(curl, multi_setopt, "curl_multi_setopt", library);
  FIND(curl, multi_add_handle, "curl_multi_add_handle", library);
  FIND(curl, multi_remove_handle, "curl_multi_remove_handle", library);
  FIND(curl, multi_socket_action, "curl_multi_socket_action", library);
  FIND(curl, multi_info_read, "curl_multi_info_read", library);
  // Counted: what Foundation does again later is harmless.
  if (curl.global_init(3) != 0) return false;
  // Asking it takes longer than most calls.
  const struct version_info *info = curl.version_info(0);
  version_number = info->version_num;
  version = info->version;
  return version_number >= 0x074200;
}

unsigned int composite_operations_curl_version_number(void) { return version_number; }

const char *composite_operations_curl_version(void) { return version; }

// An older libcurl writes to TLS connections in a way that raises SIGPIPE where the other side has gone. Signals are none of a
// library's: it is blocked for the call, and taken if it came.
static bool raisesSIGPIPE(void) { return version_number < 0x075800; }

#define WITHOUT_SIGPIPE(call)                                                        \
  do {                                                                               \
    if (!raisesSIGPIPE()) {                                                          \
      call;                                                                          \
      break;                                                                         \
    }                                                                                \
    sigset_t pipe, before, pending;                                                  \
    sigemptyset(&pipe);                                                              \
    sigaddset(&pipe, SIGPIPE);                                                       \
    sigpending(&pending);                                                            \
    int wasPending = sigismember(&pending, SIGPIPE);                                 \
    pthread_sigmask(SIG_BLOCK, &pipe, &before);                                      \
    call;                                                                            \
    static const struct timespec now = {0, 0};                                       \
    if (!wasPending) {                                                               \
      while (sigtimedwait(&pipe, NULL, &now) == -1 && errno == EINTR) {              \
      }                                                                              \
    }                                                                                \
    pthread_sigmask(SIG_SETMASK, &before, NULL);                                     \
  } while (0)

// MARK: Single transfers

void *composite_operations_curl_easy_init(void) { return curl.easy_init(); }

void composite_operations_curl_easy_cleanup(void *easy) { WITHOUT_SIGPIPE(curl.easy_cleanup(easy)); }

int composite_operations_curl_easy_set_long(void *easy, int option, long value) {
  return curl.easy_setopt(easy, option, value);
}

int composite_operations_curl_easy_set_size(void *easy, int option, int64_t value) {
  return curl.easy_setopt(easy, option, value);
}

int composite_operations_curl_easy_set_text(void *easy, int option, const char *value) {
  return curl.easy_setopt(easy, option, value);
}

int composite_operations_curl_easy_set_pointer(void *easy, int option, void *value) {
  return curl.easy_setopt(easy, option, value);
}

int composite_operations_curl_easy_set_bytes(void *easy, int option, CompositeOperationsCurlBytes function) {
  return curl.easy_setopt(easy, option, function);
}

int composite_operations_curl_easy_set_lookup(void *easy, CompositeOperationsCurlLookup function) {
  return curl.easy_setopt(easy, 20272, function);
}

int composite_operations_curl_easy_set_socket(void *easy, CompositeOperationsCurlSocketSetup function) {
  return curl.easy_setopt(easy, 20148, function);
}

int composite_operations_curl_easy_set_request(void *easy, CompositeOperationsCurlRequest function) {
  return curl.easy_setopt(easy, 20312, function);
}

int composite_operations_curl_easy_pause(void *easy, int bits) {
  int code = 0;
  WITHOUT_SIGPIPE(code = curl.easy_pause(easy, bits));
  return code;
}

int composite_operations_curl_easy_set_seek(void *easy, CompositeOperationsCurlSeek function) {
  return curl.easy_setopt(easy, 20167, function);
}

void *composite_operations_curl_slist_append(void *list, const char *text) { return curl.slist_append(list, text); }

void composite_operations_curl_slist_free(void *list) { curl.slist_free_all(list); }

// MARK: Many transfers

void *composite_operations_curl_multi_init(void) { return curl.multi_init(); }

int composite_operations_curl_multi_cleanup(void *multi) {
  int code = 0;
  WITHOUT_SIGPIPE(code = curl.multi_cleanup(multi));
  return code;
}

int composite_operations_curl_multi_set_callbacks(
    void *multi, CompositeOperationsCurlSocket socket, CompositeOperationsCurlTimer timer, void *context) {
  int code = curl.multi_setopt(multi, 20001, socket);
  if (code == 0) code = curl.multi_setopt(multi, 10002, context);
  if (code == 0) code = curl.multi_setopt(multi, 20004, timer);
  if (code == 0) code = curl.multi_setopt(multi, 10005, context);
  return code;
}

int composite_operations_curl_multi_add(void *multi, void *easy) { return curl.multi_add_handle(multi, easy); }

int composite_operations_curl_multi_remove(void *multi, void *easy) {
  int code = 0;
  WITHOUT_SIGPIPE(code = curl.multi_remove_handle(multi, easy));
  return code;
}

int composite_operations_curl_multi_socket_action(void *multi, int descriptor, int events) {
  int running = 0, code = 0;
  WITHOUT_SIGPIPE(code = curl.multi_socket_action(multi, descriptor, events, &running));
  return code;
}

void *composite_operations_curl_multi_next_ended(void *multi, int *code) {
  int left = 0;
  struct message *message;
  while ((message = curl.multi_info_read(multi, &left))) {
    if (message->msg != 1) continue;
    *code = message->data.result;
    return message->easy;
  }
  return NULL;
}

// MARK: Waiting for sockets

// Not a source of Dispatch for each socket: Dispatch loses what happens at a socket that takes the number of one that libcurl has
// just closed (swift-corelibs-libdispatch 833), and forgets one whose other side has hung up, though there is more to read.

int composite_operations_curl_waiter_open(void) { return epoll_create1(EPOLL_CLOEXEC); }

void composite_operations_curl_waiter_close(int waiter) { close(waiter); }

void composite_operations_curl_waiter_watch(int waiter, int descriptor, int what) {
  struct epoll_event event = {0};
  // 1 to read, 2 to write, 4 to forget it.
  if (what != 4) event.events = (what & 1 ? EPOLLIN : 0) | (what & 2 ? EPOLLOUT : 0);
  event.data.fd = descriptor;
  if (event.events == 0) {
    epoll_ctl(waiter, EPOLL_CTL_DEL, descriptor, &event);
  } else if (epoll_ctl(waiter, EPOLL_CTL_MOD, descriptor, &event) != 0 && errno == ENOENT) {
    epoll_ctl(waiter, EPOLL_CTL_ADD, descriptor, &event);
  }
}

int composite_operations_curl_waiter_take(int waiter, struct CompositeOperationsCurlEvent *events, int room) {
  struct epoll_event happened[64];
  int count = epoll_wait(waiter, happened, room < 64 ? room : 64, 0);
  for (int index = 0; index < count; index++) {
    unsigned int bits = happened[index].events;
    events[index].descriptor = happened[index].data.fd;
    // What a socket says at its end is found out by reading, and by writing.
    int hasEnded = (bits & (EPOLLHUP | EPOLLERR)) != 0;
    events[index].events = (bits & EPOLLIN || hasEnded ? 1 : 0) | (bits & EPOLLOUT || hasEnded ? 2 : 0);
  }
  return count < 0 ? 0 : count;
}

// MARK: Unpacking

bool composite_operations_zlib_load(void) {
  static const char *const library = "libz.so.1";
  FIND(zlib, version, "zlibVersion", library);
  FIND(zlib, inflate_init, "inflateInit2_", library);
  FIND(zlib, inflate, "inflate", library);
  FIND(zlib, inflate_reset, "inflateReset", library);
  FIND(zlib, inflate_end, "inflateEnd", library);
  return true;
}

void *composite_operations_zlib_open(bool isRaw) {
  struct z_stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  // 15 bits of window; 32 more finds out by itself whether it is gzip or zlib.
  if (zlib.inflate_init(stream, isRaw ? -15 : 15 + 32, zlib.version(), (int)sizeof *stream) != 0) {
    free(stream);
    return NULL;
  }
  return stream;
}

void composite_operations_zlib_close(void *stream) {
  zlib.inflate_end(stream);
  free(stream);
}

int composite_operations_zlib_unpack(
    void *opaque, const uint8_t *input, size_t inputCount, size_t *used, uint8_t *output, size_t outputCount,
    size_t *written) {
  struct z_stream *stream = opaque;
  stream->next_in = input;
  stream->avail_in = (unsigned int)inputCount;
  stream->next_out = output;
  stream->avail_out = (unsigned int)outputCount;
  int code = zlib.inflate(stream, 0);
  *used = inputCount - stream->avail_in;
  *written = outputCount - stream->avail_out;
  stream->next_in = NULL;
  // 1 is the end; -5 only that neither input nor room was left.
  return code == 0 || code == -5 ? 0 : code == 1 ? 1 : -1;
}

int composite_operations_zlib_restart(void *stream) { return zlib.inflate_reset(stream); }

#endif
