#ifndef COMPOSITE_OPERATIONS_CURL_H
#define COMPOSITE_OPERATIONS_CURL_H

// What HTTPOperations uses of libcurl, and of the zlib that comes with it, on platforms where Foundation's networking is
// made of them. Both are found at run time, in what Foundation has loaded: neither headers nor libraries are needed to
// build. The numbers are those of the public interface, which has not changed since libcurl.so.4 began in 2006.
//
// The functions that libcurl and zlib have by the same names say what these do.

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Finds the functions. False if one of them is missing, or the library is older than 7.66: then nothing else here may be called.
bool composite_operations_curl_load(void);

/// The number of the version, such as 0x075800 for 7.88.0; its name, for messages.
unsigned int composite_operations_curl_version_number(void);
const char *_Nonnull composite_operations_curl_version(void);

// MARK: Single transfers

typedef size_t (*CompositeOperationsCurlBytes)(char *_Nullable bytes, size_t size, size_t count, void *_Nullable context);
typedef int (*CompositeOperationsCurlSeek)(void *_Nullable context, int64_t offset, int origin);
/// Called before a name is looked up, and with each new socket before it is connected. Other than 0 ends the transfer.
typedef int (*CompositeOperationsCurlLookup)(void *_Nullable resolver, void *_Nullable reserved, void *_Nullable context);
typedef int (*CompositeOperationsCurlSocketSetup)(void *_Nullable context, int descriptor, int purpose);
/// Called before each request is sent. Other than 0 ends the transfer. Known from 7.80 on.
typedef int (*CompositeOperationsCurlRequest)(
    void *_Nullable context, char *_Nullable address, char *_Nullable ownAddress, int port, int ownPort);
void *_Nullable composite_operations_curl_easy_init(void);
void composite_operations_curl_easy_cleanup(void *_Nonnull easy);
int composite_operations_curl_easy_set_long(void *_Nonnull easy, int option, long value);
int composite_operations_curl_easy_set_size(void *_Nonnull easy, int option, int64_t value);
int composite_operations_curl_easy_set_text(void *_Nonnull easy, int option, const char *_Nullable value);
int composite_operations_curl_easy_set_pointer(void *_Nonnull easy, int option, void *_Nullable value);
int composite_operations_curl_easy_set_bytes(
    void *_Nonnull easy, int option, CompositeOperationsCurlBytes _Nullable function);
int composite_operations_curl_easy_set_lookup(void *_Nonnull easy, CompositeOperationsCurlLookup _Nullable function);
int composite_operations_curl_easy_set_socket(void *_Nonnull easy, CompositeOperationsCurlSocketSetup _Nullable function);
int composite_operations_curl_easy_set_request(void *_Nonnull easy, CompositeOperationsCurlRequest _Nullable function);
int composite_operations_curl_easy_pause(void *_Nonnull easy, int bits);
int composite_operations_curl_easy_set_seek(void *_Nonnull easy, CompositeOperationsCurlSeek _Nullable function);

/// Adds a copy of `text` to a list of header fields. Null, and the list as it was, if there is no memory.
void *_Nullable composite_operations_curl_slist_append(void *_Nullable list, const char *_Nonnull text);
void composite_operations_curl_slist_free(void *_Nullable list);

// MARK: Many transfers

typedef int (*CompositeOperationsCurlSocket)(
    void *_Nonnull easy, int descriptor, int what, void *_Nullable context, void *_Nullable socketContext);
typedef int (*CompositeOperationsCurlTimer)(void *_Nonnull multi, long milliseconds, void *_Nullable context);

void *_Nullable composite_operations_curl_multi_init(void);
int composite_operations_curl_multi_cleanup(void *_Nonnull multi);
int composite_operations_curl_multi_set_callbacks(
    void *_Nonnull multi, CompositeOperationsCurlSocket _Nonnull socket, CompositeOperationsCurlTimer _Nonnull timer,
    void *_Nullable context);
int composite_operations_curl_multi_add(void *_Nonnull multi, void *_Nonnull easy);
int composite_operations_curl_multi_remove(void *_Nonnull multi, void *_Nonnull easy);
int composite_operations_curl_multi_socket_action(void *_Nonnull multi, int descriptor, int events);

/// The next transfer that has ended: its handle and how it ended. Null if there is none.
void *_Nullable composite_operations_curl_multi_next_ended(void *_Nonnull multi, int *_Nonnull code);

// MARK: Waiting for sockets

/// A socket that libcurl waits for, and what has happened there, in libcurl's bits.
struct CompositeOperationsCurlEvent {
  int descriptor;
  int events;
};

/// Something that waits for many sockets; can be waited for itself, like a socket that is read. Less than 0 if there is none.
int composite_operations_curl_waiter_open(void);
void composite_operations_curl_waiter_close(int waiter);

/// Has it wait for a socket, as libcurl's `what` says.
void composite_operations_curl_waiter_watch(int waiter, int descriptor, int what);

/// What has happened by now. Does not wait. Returns how many events there are.
int composite_operations_curl_waiter_take(int waiter, struct CompositeOperationsCurlEvent *_Nonnull events, int room);

// MARK: Unpacking

/// Whether the functions of zlib were found.
bool composite_operations_zlib_load(void);

/// Something that unpacks gzip and zlib streams. Null if there is no memory.
void *_Nullable composite_operations_zlib_open(bool isRaw);
void composite_operations_zlib_close(void *_Nonnull stream);

/// Unpacks some of `input`. Says how much of it was used, and how much was written to `output`.
///
/// Returns 0 to go on, 1 at the end of a stream, and less than 0 if the input is damaged.
int composite_operations_zlib_unpack(
    void *_Nonnull stream, const uint8_t *_Nullable input, size_t inputCount, size_t *_Nonnull used,
    uint8_t *_Nonnull output, size_t outputCount, size_t *_Nonnull written);

/// Begins anew, for another member of the same stream.
int composite_operations_zlib_restart(void *_Nonnull stream);

#endif

#endif
