/* SPDX-License-Identifier: GPL-2.0 */
#include_next <xen/interface/io/ring.h>

#ifndef RING_COPY_RESPONSE
#define RING_COPY_RESPONSE(r, idx, rsp)                                    \
	do {                                                               \
		*(rsp) = *(volatile typeof(rsp))RING_GET_RESPONSE(r, idx); \
	} while (0)
#endif

#ifndef XEN_FRONT_RING_INIT
#define XEN_FRONT_RING_INIT(r, s, size)      \
	do {                                 \
		SHARED_RING_INIT(s);         \
		FRONT_RING_INIT(r, s, size); \
	} while (0)
#endif
