/* SPDX-License-Identifier: MIT */
/*
 * vread-spin.h - how long either end of a ring, if it is in user space, looks at the ring before it
 * sleeps.  libvread waits so for responses, the workers of vreadd for requests.
 *
 * The ends of a ring answer each other within some microseconds while a client reads small pieces
 * one after the other.  To wake a sleeping thread takes longer than that.  So an end spins if its
 * last waits were short, whether it spun or slept in them.  After a longer wait it spins for half
 * as long, and after some of them not at all.  This is the rule of the halt polling of KVM
 * (Documentation/virt/kvm/halt-polling.rst of Linux).
 */
#ifndef VREAD_SPIN_H
#define VREAD_SPIN_H

#include <stdint.h>

#define VREAD_SPIN_FIRST_NS 10000U /* the shortest spin */
#define VREAD_SPIN_MOST_NS 50000U

/* The length of the next spin, in ns, after a wait of waited_ns in all; ns: the length before. */
static inline unsigned vread_spin_ns(unsigned ns, uint64_t waited_ns)
{
	if (waited_ns > VREAD_SPIN_MOST_NS)
		return ns / 2 < VREAD_SPIN_FIRST_NS ? 0 : ns / 2;
	if (ns < VREAD_SPIN_FIRST_NS)
		return VREAD_SPIN_FIRST_NS;
	return ns > VREAD_SPIN_MOST_NS / 2 ? VREAD_SPIN_MOST_NS : ns * 2;
}

/* Call it between two looks: it leaves the processor's core to its other thread. */
static inline void vread_spin_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
