/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waiting.h - a thread says that it is about to wait for a disk or a parser.  disk/, read/ and
 * datanode/ call waiting_announce() before such a wait; ring/hands.c sets a hook.
 *
 * The hook lets the owner of the thread act before the wait: a queue gives its other requests to
 * another thread.  A thread without a hook is not affected.
 *
 * Bytes that are in memory are read without an announcement, so the hook costs such reads nothing.
 * The hook may take locks of its own, so the announcement may be made with locks held, but it must
 * not be made between reading_seal() and reading_unseal() (read/service.h).
 */
#ifndef VREAD_BASE_WAITING_H
#define VREAD_BASE_WAITING_H

#include <pthread.h>
#include <stdbool.h>

/* Has waiting_announce() call hook(ctx) on this thread; NULL: no hook, as in a new thread. */
void waiting_set_hook(void (*hook)(void *ctx), void *ctx);
/* True if this thread has a hook. */
bool waiting_is_heard(void);
/* This thread is about to wait.  Calls the hook of this thread, if there is one. */
void waiting_announce(void);
/* Locks a mutex that other threads hold while they wait for a disk.  Announces a wait only if the
 * mutex is not free. */
void waiting_lock(pthread_mutex_t *mutex);

#endif
