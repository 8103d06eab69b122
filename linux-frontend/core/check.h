/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check.h - checks values that come from the backend or from processes, and the rule by which
 * processes share the pool.  Other files of the module call these functions.
 *
 * The functions are pure: they take private copies and use no interface of the kernel.  So unit
 * tests compile them in user space.
 */
#ifndef VREAD_CHECK_H
#define VREAD_CHECK_H

#ifdef __KERNEL__
#include <linux/types.h>
#include "vreadif.h"
#else
#include <stdbool.h>
#include <stdint.h>
#include "vread-ring-user.h"
#endif
#include "vread_ioctl.h"

/* Parses an unsigned decimal number without sign, leading zero or space.  0, -EINVAL: no such
 * number, or -ERANGE: outside min .. max. */
int vread_parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *ret);

/* True if version is in list, numbers separated by commas. */
bool vread_offers_version(const char *list, uint32_t version);

/* Returns "client" or "datanode" (static strings).  NULL: text is neither. */
const char *vread_parse_role(const char *text);

/* Returns how many of the pages for slices only small slices may use; see VREAD_SMALL_SHARES.  A
 * seventh of them is the reserve. */
uint32_t vread_small_pages(uint32_t slice_pages);

/* Something that the users of a guest share. */
struct vread_common {
	uint32_t capacity; /* units */
	uint32_t reserve;  /* of these only for who holds none */
	uint32_t held;     /* by all users */
	uint32_t holders;  /* users who hold some */
};

/* True if a user who holds `own` units may take `wanted` more.  Who holds none may take what is
 * free.  The others leave the reserve, and keep to equal shares among the holders. */
bool vread_may_take(const struct vread_common *common, uint32_t own, uint32_t wanted);

/* Checks everything about a READ except its handle: 0 or -EINVAL. */
int vread_check_read(const struct vread_ioc_read *read, uint64_t slice_bytes);

/* Check everything about a PUBLISH or KEYS except its data: 0 or -EINVAL. */
int vread_check_publish(const struct vread_ioc_publish *publish);
int vread_check_keys(const struct vread_ioc_keys *keys);

/* Checks the response to a request of that operation.  max_status: the largest status allowed, the
 * length of a READ, 0 for other operations.  NULL: right; else a static text that says what is
 * wrong. */
const char *vread_check_response(const struct vread_response *rsp, unsigned int operation,
				 uint32_t max_status);

/* Returns status, a negative errno, if vreadif.h lists it for backends, else -EIO.  So no backend
 * can pass the kernel's private error numbers to a process. */
int vread_check_error(int32_t status);

#endif
