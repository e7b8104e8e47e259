// The functions of libIndexStore that check-layers.swift calls. The library comes with every toolchain of Swift, its header
// with some only.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  const char *data;
  size_t length;
} indexstore_string_ref_t;

void *indexstore_store_create(const char *path, void **error);
bool indexstore_store_units_apply_f(void *store, unsigned sorted, void *context,
                                    bool (*body)(void *context, indexstore_string_ref_t name));

void *indexstore_unit_reader_create(void *store, const char *name, void **error);
void indexstore_unit_reader_dispose(void *unit);
void indexstore_unit_reader_get_modification_time(void *unit, int64_t *seconds, int64_t *nanoseconds);
indexstore_string_ref_t indexstore_unit_reader_get_main_file(void *unit);
bool indexstore_unit_reader_dependencies_apply_f(void *unit, void *context, bool (*body)(void *context, void *dependency));

// 2 for a record.
unsigned indexstore_unit_dependency_get_kind(void *dependency);
indexstore_string_ref_t indexstore_unit_dependency_get_filepath(void *dependency);
indexstore_string_ref_t indexstore_unit_dependency_get_name(void *dependency);

void *indexstore_record_reader_create(void *store, const char *name, void **error);
void indexstore_record_reader_dispose(void *record);
bool indexstore_record_reader_occurrences_apply_f(void *record, void *context, bool (*body)(void *context, void *occurrence));

void *indexstore_occurrence_get_symbol(void *occurrence);
uint64_t indexstore_occurrence_get_roles(void *occurrence);
void indexstore_occurrence_get_line_col(void *occurrence, unsigned *line, unsigned *column);
bool indexstore_occurrence_relations_apply_f(void *occurrence, void *context, bool (*body)(void *context, void *relation));
uint64_t indexstore_symbol_relation_get_roles(void *relation);
void *indexstore_symbol_relation_get_symbol(void *relation);
// 5 to 8 for an enum, a struct, a class and a protocol, 11 for a type alias.
unsigned indexstore_symbol_get_kind(void *symbol);
indexstore_string_ref_t indexstore_symbol_get_name(void *symbol);
indexstore_string_ref_t indexstore_symbol_get_usr(void *symbol);
