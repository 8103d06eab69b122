/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crc.h - the CRC32C of bytes that came from the backend.  check.c compares it with the CRC32C in
 * the backend's answer.
 */
#ifndef LIBVREAD_CRC_H
#define LIBVREAD_CRC_H

#include <stddef.h>
#include <stdint.h>

/* With the customary inversions; 0 for no bytes.  Any thread. */
uint32_t vcrc_sum(const void *data, size_t length);

/* ---- for tests: the two ways to compute the sum ---------------------------- */

uint32_t vcrc_sum_by_table(const void *data, size_t length);
/* As vcrc_sum_by_table() on a processor without such an instruction. */
uint32_t vcrc_sum_by_instruction(const void *data, size_t length);

#endif
