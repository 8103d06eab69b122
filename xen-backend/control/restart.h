/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * restart.h - what of a configuration only counts from the daemon's next start on.
 */
#ifndef VREAD_RESTART_H
#define VREAD_RESTART_H

#include <jansson.h>

struct config;

/* Which of those keys and sections differ; new reference: an array of texts. */
json_t *restart_needed(const struct config *running, const struct config *wanted);

#endif
