/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * restart.h - settings that only take effect when the daemon is started again.
 *
 * Called by daemon.c after a reload.
 */
#ifndef VREAD_RESTART_H
#define VREAD_RESTART_H

#include <jansson.h>

struct config;

/* The keys and sections of this kind that differ.  New reference: an array of texts. */
json_t *restart_needed(const struct config *running, const struct config *wanted);

#endif
