/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * big_endian.h - numbers of image headers (qcow2, VHD), which lie at any address and have their
 * most significant byte first.
 */
#ifndef VREAD_DISK_BIG_ENDIAN_H
#define VREAD_DISK_BIG_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t get32(const uint8_t *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return be32toh(value);
}

static inline uint64_t get64(const uint8_t *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return be64toh(value);
}

#endif
