#ifndef COMPOSITE_OPERATIONS_SQLITE_SHIM_H
#define COMPOSITE_OPERATIONS_SQLITE_SHIM_H

#if !__has_include(<sqlite3.h>)

#error "DurableOperations needs the headers of SQLite, 3.35 or newer: install libsqlite3-dev (Debian, Ubuntu), sqlite-devel (Fedora, Amazon Linux), sqlite-dev (Alpine) or sqlite (Homebrew), and build again"

#else

#include <sqlite3.h>

// `SQLITE_TRANSIENT` is a cast, which Swift does not import.
static inline sqlite3_destructor_type composite_operations_sqlite_transient(void) { return SQLITE_TRANSIENT; }

// `sqlite3_db_config` and `sqlite3_config` take any number of arguments, which Swift does not import.
static inline int composite_operations_sqlite_set_defensive(sqlite3 *database) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
}

#endif

#endif
