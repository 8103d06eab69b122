/* SPDX-License-Identifier: MIT */
/*
 * vread-ring-user.h - vreadif.h with the memory barriers that Xen's ring macros need.  Programs in
 * user space include this header instead of vreadif.h.  Kernels have their own barriers.
 */
#ifndef VREAD_RING_USER_H
#define VREAD_RING_USER_H

#include <string.h>

#include "vreadif.h"

/* Without an interface version, ring.h uses barriers of old names.  Replace them. */
#undef xen_mb
#undef xen_rmb
#undef xen_wmb
#define xen_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define xen_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define xen_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)

#endif
