/* SPDX-License-Identifier: MIT */
/*
 * vread-spin.h - when either end of a ring, if it is in user space, looks at the ring for a short
 * time before it sleeps.  libvread waits so for responses, the workers of vreadd for requests.
 *
 * The ends of a ring answer each other within some microseconds while a client reads small pieces
 * one after the other.  To wake a sleeping thread of another processor takes longer than that.  So
 * an end spins while its waits are short.  It learns from each wait, whether it spun or slept:
 *
 *   a short wait         it spins in the next one.
 *   three long waits     in a row: it does not spin, until a wait is short again.
 *   three that ended     both ends are on one processor: the spin kept the other end from
 *   just after a spin    answering.  It does not spin for some waits, each time for twice as many.
 *
 * One wait alone says nothing: about one of a hundred is long because the machine does something
 * else.
 */
#ifndef VREAD_SPIN_H
#define VREAD_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define VREAD_SPIN_NS 50000U          /* the longest spin, and the longest short wait */
#define VREAD_SPIN_HANDOVER_NS 15000U /* how soon another thread of a processor answers */
#define VREAD_SPIN_LONG_WAITS 3U
#define VREAD_SPIN_FIRST_PAUSE 64U /* waits */
#define VREAD_SPIN_LONGEST_PAUSE 1024U

struct vread_spin {
	bool allowed;        /* the other end may run meanwhile: there are several processors */
	bool on;             /* spin in the next wait */
	unsigned long_waits; /* in a row */
	unsigned handovers;  /* of these, waits that ended just after the spin */
	unsigned pause, next_pause;
};

static inline struct vread_spin vread_spin_new(long processors)
{
	return (struct vread_spin){.allowed = processors > 1, .next_pause = VREAD_SPIN_FIRST_PAUSE};
}

/* Three waits with a spin were long. */
static inline void vread_spin_stop(struct vread_spin *s)
{
	s->on = false;
	if (s->handovers == s->long_waits) {
		s->pause = s->next_pause;
		if (s->next_pause < VREAD_SPIN_LONGEST_PAUSE)
			s->next_pause *= 2;
	}
	s->long_waits = s->handovers = 0;
}

/* A wait has ended, which took waited_ns in all, with the spin if there was one. */
static inline void vread_spin_waited(struct vread_spin *s, uint64_t waited_ns)
{
	if (s->pause) {
		s->pause--;
	} else if (!s->on) {
		s->on = s->allowed && waited_ns <= VREAD_SPIN_NS;
	} else if (waited_ns <= VREAD_SPIN_NS) {
		s->long_waits = s->handovers = 0;
		s->next_pause = VREAD_SPIN_FIRST_PAUSE;
	} else {
		s->handovers += waited_ns <= VREAD_SPIN_NS + VREAD_SPIN_HANDOVER_NS;
		if (++s->long_waits == VREAD_SPIN_LONG_WAITS)
			vread_spin_stop(s);
	}
}

/* Call it between two looks: it leaves the processor's core to its other thread.  After some looks
 * call sched_yield(), too: others of many readers may be waiting for this processor. */
static inline void vread_spin_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
