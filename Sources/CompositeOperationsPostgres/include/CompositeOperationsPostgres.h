#ifndef COMPOSITE_OPERATIONS_POSTGRES_H
#define COMPOSITE_OPERATIONS_POSTGRES_H

// What DurableOperations uses of libpq, the client library of PostgreSQL. It is opened at run time, when the first connection is
// made: neither headers nor libraries are needed to build, and programs that use no PostgreSQL need none at all. The numbers and
// the layouts are those of the public interface, which has not changed since libpq.so.5 began in 2006.
//
// The functions that libpq has by the same names, with PQ before them, say what these do.

#if defined(__linux__) || defined(__APPLE__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct CompositeOperationsPostgresConnection CompositeOperationsPostgresConnection;
typedef struct CompositeOperationsPostgresResult CompositeOperationsPostgresResult;
typedef struct CompositeOperationsPostgresCancel CompositeOperationsPostgresCancel;

/// A `PGnotify`.
typedef struct CompositeOperationsPostgresNotification {
  char *channel;
  int sender;
  char *payload;
  struct CompositeOperationsPostgresNotification *next;
} CompositeOperationsPostgresNotification;

/// A `PQconninfoOption`. The last of a list has no keyword.
typedef struct CompositeOperationsPostgresOption {
  char *keyword;
  char *environmentVariable;
  char *compiled;
  char *value;
  char *label;
  /// “*” for a password.
  char *display;
  int displaySize;
} CompositeOperationsPostgresOption;

typedef void (*CompositeOperationsPostgresNoticeReceiver)(void *context, const CompositeOperationsPostgresResult *notice);

/// The functions of a libpq that was opened.
typedef struct CompositeOperationsPostgresFunctions {
  // Connecting
  int (*libVersion)(void);
  CompositeOperationsPostgresConnection *(*connectStartParams)(
      const char *const *keywords, const char *const *values, int expandsName);
  int (*connectPoll)(CompositeOperationsPostgresConnection *);
  void (*finish)(CompositeOperationsPostgresConnection *);
  CompositeOperationsPostgresOption *(*conninfoParse)(const char *url, char **error);
  void (*conninfoFree)(CompositeOperationsPostgresOption *);
  CompositeOperationsPostgresNoticeReceiver (*setNoticeReceiver)(
      CompositeOperationsPostgresConnection *, CompositeOperationsPostgresNoticeReceiver, void *context);
  int (*setnonblocking)(CompositeOperationsPostgresConnection *, int);
  // State
  int (*status)(const CompositeOperationsPostgresConnection *);
  int (*transactionStatus)(const CompositeOperationsPostgresConnection *);
  int (*socket)(const CompositeOperationsPostgresConnection *);
  int (*backendPID)(const CompositeOperationsPostgresConnection *);
  int (*serverVersion)(const CompositeOperationsPostgresConnection *);
  int (*sslInUse)(CompositeOperationsPostgresConnection *);
  char *(*host)(const CompositeOperationsPostgresConnection *);
  char *(*port)(const CompositeOperationsPostgresConnection *);
  char *(*db)(const CompositeOperationsPostgresConnection *);
  const char *(*parameterStatus)(const CompositeOperationsPostgresConnection *, const char *name);
  char *(*errorMessage)(const CompositeOperationsPostgresConnection *);
  // Sending
  int (*enterPipelineMode)(CompositeOperationsPostgresConnection *);
  int (*exitPipelineMode)(CompositeOperationsPostgresConnection *);
  int (*pipelineSync)(CompositeOperationsPostgresConnection *);
  int (*sendPrepare)(
      CompositeOperationsPostgresConnection *, const char *name, const char *sql, int count, const uint32_t *types);
  int (*sendQueryParams)(
      CompositeOperationsPostgresConnection *, const char *sql, int count, const uint32_t *types, const char *const *values,
      const int *lengths, const int *formats, int resultFormat);
  int (*sendQueryPrepared)(
      CompositeOperationsPostgresConnection *, const char *name, int count, const char *const *values, const int *lengths,
      const int *formats, int resultFormat);
  int (*flush)(CompositeOperationsPostgresConnection *);
  // Receiving
  int (*consumeInput)(CompositeOperationsPostgresConnection *);
  int (*isBusy)(CompositeOperationsPostgresConnection *);
  CompositeOperationsPostgresResult *(*getResult)(CompositeOperationsPostgresConnection *);
  CompositeOperationsPostgresNotification *(*notifies)(CompositeOperationsPostgresConnection *);
  void (*freemem)(void *);
  // Results
  int (*resultStatus)(const CompositeOperationsPostgresResult *);
  char *(*resultErrorField)(const CompositeOperationsPostgresResult *, int field);
  char *(*resultErrorMessage)(const CompositeOperationsPostgresResult *);
  char *(*cmdStatus)(CompositeOperationsPostgresResult *);
  char *(*cmdTuples)(CompositeOperationsPostgresResult *);
  int (*ntuples)(const CompositeOperationsPostgresResult *);
  int (*nfields)(const CompositeOperationsPostgresResult *);
  char *(*fname)(const CompositeOperationsPostgresResult *, int column);
  uint32_t (*ftype)(const CompositeOperationsPostgresResult *, int column);
  char *(*getvalue)(const CompositeOperationsPostgresResult *, int row, int column);
  int (*getlength)(const CompositeOperationsPostgresResult *, int row, int column);
  int (*getisnull)(const CompositeOperationsPostgresResult *, int row, int column);
  void (*clear)(CompositeOperationsPostgresResult *);
  // Cancelling
  CompositeOperationsPostgresCancel *(*getCancel)(CompositeOperationsPostgresConnection *);
  int (*cancel)(CompositeOperationsPostgresCancel *, char *error, int room);
  void (*freeCancel)(CompositeOperationsPostgresCancel *);
} CompositeOperationsPostgresFunctions;

/// What became of opening a library.
typedef enum CompositeOperationsPostgresOpening {
  CompositeOperationsPostgresOpened,
  /// The system's loader found none, or none that it can use.
  CompositeOperationsPostgresNotFound,
  /// It is another library.
  CompositeOperationsPostgresNotLibpq,
  /// It lacks functions.
  CompositeOperationsPostgresTooOld,
} CompositeOperationsPostgresOpening;

/// Opens the library at a path, or the one of a name that the system's loader knows. One that was opened stays open; else
/// `reason` gets a text, cut off where there is no room for it.
///
/// `oldest` is a number such as 140000, as `libVersion` has it.
CompositeOperationsPostgresOpening composite_operations_postgres_open(
    const char *path, int oldest, CompositeOperationsPostgresFunctions *functions, char *reason, size_t room);

/// Does nothing. Without a receiver, libpq writes the server's notices to the standard error of the program.
void composite_operations_postgres_ignore_notice(void *context, const CompositeOperationsPostgresResult *notice);

#endif
#endif
