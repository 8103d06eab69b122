/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress.h - shows on stderr what vread-provision is doing: one line for each step.  On a
 * terminal, a counter of seconds follows a long step.  main.c, appliance.c, inspect.c and
 * search.c call these functions.
 */
#ifndef VREAD_PROVISION_PROGRESS_H
#define VREAD_PROVISION_PROGRESS_H

#include <stdbool.h>

void progress_init(bool quiet);
void progress_step(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The current step goes on.  percent < 0: unknown. */
void progress_tick(int percent);
/* Warnings are shown even when quiet. */
void progress_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_done(void);

#endif
