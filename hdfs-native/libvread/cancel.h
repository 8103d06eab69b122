/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cancel.h - keeps pthread_cancel() out of the library.
 *
 * A thread that ended inside a call would leave behind a lock that it holds, a leader that wakes no
 * other thread, and a waiter in a list whose memory was its stack (engine.h).  So each function of
 * vread.h begins with NO_CANCEL, except vread_strerror().
 */
#ifndef LIBVREAD_CANCEL_H
#define LIBVREAD_CANCEL_H

#include <pthread.h>

static inline int cancel_disable(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void cancel_restore(const int *state)
{
	int disabled;

	pthread_setcancelstate(*state, &disabled);
}

/* The thread cannot be cancelled until the end of the block.  A pthread_cancel() that came
 * meanwhile takes effect at the thread's next cancellation point after that. */
#define NO_CANCEL                                                                        \
	__attribute__((cleanup(cancel_restore), unused)) const int cancel_state_before = \
		cancel_disable()

#endif
