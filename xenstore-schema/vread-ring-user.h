/* SPDX-License-Identifier: MIT */
/*
 * What Xen's ring macros want from user space: the barriers.  A program that
 * uses the ring includes this instead of vreadif.h; kernels bring their own.
 */
#ifndef VREAD_RING_USER_H
#define VREAD_RING_USER_H

#include <string.h>

#include "vreadif.h"

/* ring.h names old barriers when no interface version is set; these are ours. */
#undef xen_mb
#undef xen_rmb
#undef xen_wmb
#define xen_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define xen_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define xen_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)

#endif
