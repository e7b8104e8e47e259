#include "CompositeOperationsPostgres.h"

#if defined(__linux__) || defined(__APPLE__)

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION(name) \
  { "PQ" #name, offsetof(CompositeOperationsPostgresFunctions, name) }

static const struct {
  const char *name;
  size_t offset;
} table[] = {
  FUNCTION(libVersion),
  FUNCTION(connectStartParams),
  FUNCTION(connectPoll),
  FUNCTION(finish),
  FUNCTION(conninfoParse),
  FUNCTION(conninfoFree),
  FUNCTION(setNoticeReceiver),
  FUNCTION(setnonblocking),
  FUNCTION(status),
  FUNCTION(transactionStatus),
  FUNCTION(socket),
  FUNCTION(backendPID),
  FUNCTION(serverVersion),
  FUNCTION(sslInUse),
  FUNCTION(host),
  FUNCTION(port),
  FUNCTION(db),
  FUNCTION(parameterStatus),
  FUNCTION(errorMessage),
  FUNCTION(enterPipelineMode),
  FUNCTION(exitPipelineMode),
  FUNCTION(pipelineSync),
  FUNCTION(sendPrepare),
  FUNCTION(sendQueryParams),
  FUNCTION(sendQueryPrepared),
  FUNCTION(flush),
  FUNCTION(consumeInput),
  FUNCTION(isBusy),
  FUNCTION(getResult),
  FUNCTION(notifies),
  FUNCTION(freemem),
  FUNCTION(resultStatus),
  FUNCTION(resultErrorField),
  FUNCTION(resultErrorMessage),
  FUNCTION(cmdStatus),
  FUNCTION(cmdTuples),
  FUNCTION(ntuples),
  FUNCTION(nfields),
  FUNCTION(fname),
  FUNCTION(ftype),
  FUNCTION(getvalue),
  FUNCTION(getlength),
  FUNCTION(getisnull),
  FUNCTION(clear),
  FUNCTION(getCancel),
  FUNCTION(cancel),
  FUNCTION(freeCancel),
};

_Static_assert(
    sizeof(CompositeOperationsPostgresFunctions) == sizeof table / sizeof *table * sizeof(void *),
    "a function is missing in the table");

CompositeOperationsPostgresOpening composite_operations_postgres_open(
    const char *path, int oldest, CompositeOperationsPostgresFunctions *functions, char *reason, size_t room) {
  // Its names are nobody else's: the program may have linked another libpq.
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *error = dlerror();
    snprintf(reason, room, "%s", error ? error : path);
    return CompositeOperationsPostgresNotFound;
  }
  CompositeOperationsPostgresOpening failure = CompositeOperationsPostgresNotLibpq;
  for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
    void *function = dlsym(library, table[index].name);
    if (!function) {
      snprintf(reason, room, "%s has no %s", path, table[index].name);
      dlclose(library);
      return failure;
    }
    memcpy((char *)functions + table[index].offset, &function, sizeof function);
    // The first of them is the version: what has that is a libpq.
    if (index > 0) continue;
    failure = CompositeOperationsPostgresTooOld;
    int version = functions->libVersion();
    if (version >= oldest) continue;
    snprintf(reason, room, "%s is of PostgreSQL %d", path, version / 10000);
    dlclose(library);
    return failure;
  }
  return CompositeOperationsPostgresOpened;
}

void composite_operations_postgres_ignore_notice(void *context, const CompositeOperationsPostgresResult *notice) {
  (void)context;
  (void)notice;
}

#endif
