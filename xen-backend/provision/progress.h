/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * progress.h - what vread-provision is doing, on stderr: one line per step, and on
 * a terminal a counter of seconds behind a long one.
 */
#ifndef VREAD_PROVISION_PROGRESS_H
#define VREAD_PROVISION_PROGRESS_H

#include <stdbool.h>

void progress_init(bool quiet);
void progress_step(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The present step goes on; percent < 0: unknown. */
void progress_tick(int percent);
/* Warnings are shown even when quiet. */
void progress_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void progress_done(void);

#endif
