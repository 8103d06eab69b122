/* SPDX-License-Identifier: GPL-2.0-or-later */
/* number.h - unsigned numbers as configuration and xenstore write them. */
#ifndef VREAD_NUMBER_H
#define VREAD_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Strict decimal: no sign, space or leading zero; false if malformed or outside. */
bool parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *ret);

/* Bytes: a number as above, or one and K, M or G for 2^10, 2^20, 2^30; false if malformed. */
bool parse_bytes(const char *text, uint64_t *ret);

#endif
