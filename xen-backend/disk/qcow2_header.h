/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * qcow2_header.h - parses the head of a qcow2 file: header, extensions and the backing file's name.
 * disk/qcow2.c parses the head when it opens a file, disk/qcow2_lookup.c follows it at each
 * look-up.
 *
 * All functions are pure functions over bytes.
 */
#ifndef VREAD_DISK_QCOW2_HEADER_H
#define VREAD_DISK_QCOW2_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The head lies within the first QCOW2_HEAD_BYTES of the file. */
#define QCOW2_HEAD_BYTES 4096U
#define QCOW2_MAX_NAME 1023U

struct qcow2_header {
	uint32_t version; /* 2 or 3 */
	uint32_t cluster_bits;
	uint64_t size; /* of the disk */
	uint64_t l1_offset;
	uint32_t l1_entries;
	bool zstd;           /* compressed clusters are zstd frames; false: deflate streams */
	uint32_t head_bytes; /* bytes of the file that the head takes */
	char backing[QCOW2_MAX_NAME + 1]; /* "": none */
	char backing_format[32];          /* "": not named */
};

/* Parses head, the first length bytes of a file.  length is QCOW2_HEAD_BYTES, or the file's size if
 * that is smaller.  Returns NULL, or why the file cannot be read: a static string that continues a
 * message after the file's name. */
const char *qcow2_header_parse(const uint8_t *head, size_t length, struct qcow2_header *ret);

/* Takes the place of the L1 table, which the owner may move, from the current head.  head is the
 * head at the time of opening, now the current one; both have head_bytes bytes.  Returns false if
 * anything changed that an owner does not change while it uses the disk. */
bool qcow2_header_follow(const struct qcow2_header *h, const uint8_t *head, const uint8_t *now,
			 uint64_t *ret_l1_offset);

#endif
