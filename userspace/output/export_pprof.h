/* The tables of a pprof profile that samples refer to: locations, functions, mappings, strings. Shared by the
 * files of the pprof export. Format: github.com/google/pprof, proto/profile.proto. */
#ifndef FPERF_OUTPUT_EXPORT_PPROF_H
#define FPERF_OUTPUT_EXPORT_PPROF_H

#include "base/buf.h"
#include "base/map.h"
#include "base/strtab.h"
#include "output/export.h"

enum fperf_pprof_field { /* of message Profile */
			 FPERF_PPROF_SAMPLE_TYPE = 1,
			 FPERF_PPROF_SAMPLE = 2,
			 FPERF_PPROF_MAPPING = 3,
			 FPERF_PPROF_LOCATION = 4,
			 FPERF_PPROF_FUNCTION = 5,
			 FPERF_PPROF_STRING = 6,
			 FPERF_PPROF_TIME = 9,
			 FPERF_PPROF_DURATION = 10,
			 FPERF_PPROF_PERIOD_TYPE = 11,
			 FPERF_PPROF_PERIOD = 12,
			 FPERF_PPROF_COMMENT = 13,
			 FPERF_PPROF_DEFAULT_TYPE = 14,
};

struct fperf_pprof_tables {
	const struct fperf_export *export;
	struct fperf_strtab *strings;
	struct fperf_strtab *locations; /* place of code, as bytes, to id */
	struct fperf_map functions;	/* function id and file to id */
	struct fperf_map mappings;	/* index of the mapping record, or module, to id */
	/* Mapping records by (process, module), as lists. */
	struct fperf_map first_mapping; /* process << 32 | module to index of a record, plus one */
	uint32_t *next_mapping;		/* by index of a record: index of the next one, plus one */
	struct fperf_buf out;		/* encoded locations, functions and mappings */
};

int fperf_pprof_tables__init(struct fperf_pprof_tables *tables, const struct fperf_export *export);
void fperf_pprof_tables__free(struct fperf_pprof_tables *tables);

/* Index into the string table. */
uint32_t fperf_pprof_tables__string(struct fperf_pprof_tables *tables, const char *text);

/* Id of the location of a stack frame of a process; 0 when out of memory. `frame` NULL: what stands for a
 * stack that was lost. */
uint32_t fperf_pprof_tables__location(struct fperf_pprof_tables *tables,
				      const struct fperf_stack_frame *frame, uint32_t process);

#endif
