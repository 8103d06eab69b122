/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * big_endian.h - reads big-endian numbers at any address, aligned or not.  disk/qcow2_header.c and
 * disk/vhd_header.c parse image headers with it.
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
