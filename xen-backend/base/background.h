/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * background.h - threads that nobody waits for while vreadd runs. datanode/ starts them, because a
 * disk or a parser can make them wait for as long as it likes; control/daemon.c waits for them when
 * vreadd ends.
 *
 * Threads: any, but background_wait() is called by one thread at a time.
 */
#ifndef VREAD_BACKGROUND_H
#define VREAD_BACKGROUND_H

/* Starts a thread that calls run(arg) once. Returns 0 or negative errno. */
int background_start(void (*run)(void *arg), void *arg);
/* Waits until all threads have ended, those too that are started meanwhile. */
void background_wait(void);

#endif
