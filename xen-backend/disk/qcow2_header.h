/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qcow2_header.h - the head of a qcow2 file: header, extensions and the backing file's name.
 *
 * Pure functions over bytes.
 */
#ifndef VREAD_DISK_QCOW2_HEADER_H
#define VREAD_DISK_QCOW2_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of the head lies in this much of the file. */
#define QCOW2_HEAD_BYTES 4096U
#define QCOW2_MAX_NAME 1023U

struct qcow2_header {
	uint32_t version; /* 2 or 3 */
	uint32_t cluster_bits;
	uint64_t size; /* of the disk */
	uint64_t l1_offset;
	uint32_t l1_entries;
	bool extended_l2; /* entries of 16 bytes, for 32 subclusters each */
	bool zstd;        /* what is compressed, is by this, not by zlib */
	uint32_t head_bytes;
	char backing[QCOW2_MAX_NAME + 1]; /* "": none */
	char backing_format[32];          /* "": not said */
};

/* The first length bytes of a file, all there are if fewer than QCOW2_HEAD_BYTES.  NULL, or why
 * it cannot be read: a static text, to follow the file's name. */
const char *qcow2_header_parse(const uint8_t *head, size_t length, struct qcow2_header *ret);

/* Reads anew where the L1 table is, which its owner may move, from the head as it is now:
 * head_bytes of it.  False if anything else is not what it was. */
bool qcow2_header_follow(const struct qcow2_header *h, const uint8_t *head, const uint8_t *now,
			 uint64_t *ret_l1_offset);

#endif
