/* Protocol buffers, as far as writing goes (protobuf.dev/programming-guides/encoding). Appends to a buffer,
 * whose failure is sticky. */
#ifndef FPERF_OUTPUT_PROTOBUF_H
#define FPERF_OUTPUT_PROTOBUF_H

#include "base/buf.h"

void fperf_protobuf__uint(struct fperf_buf *buf, uint32_t field, uint64_t value); /* also bool and enum */
void fperf_protobuf__int(struct fperf_buf *buf, uint32_t field, int64_t value);	  /* int32, int64 */
void fperf_protobuf__fixed64(struct fperf_buf *buf, uint32_t field, uint64_t value);
void fperf_protobuf__bytes(struct fperf_buf *buf, uint32_t field, const void *bytes, size_t size);

/* A string, made valid UTF-8. */
void fperf_protobuf__text(struct fperf_buf *buf, uint32_t field, const char *text);

/* A message inside: what is appended between the two belongs to it. Begin returns what end needs. At most
 * 256 MiB. */
size_t fperf_protobuf__begin(struct fperf_buf *buf, uint32_t field);
void fperf_protobuf__end(struct fperf_buf *buf, size_t begin);

#endif
