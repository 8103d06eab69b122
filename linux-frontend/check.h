/* SPDX-License-Identifier: GPL-2.0 */
/*
 * check.h - what the module believes of its backend and of its callers.
 *
 * Pure functions over private copies: no kernel interface, so that unit tests
 * compile them in user space.
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

/* Unsigned decimal without sign, leading zero or space.  0, -EINVAL or -ERANGE. */
int vread_parse_number(const char *text, uint32_t min, uint32_t max, uint32_t *ret);

/* Is version one of the comma-separated numbers of list? */
bool vread_offers_version(const char *list, uint32_t version);

/* "client" or "datanode" (static), NULL if text is neither. */
const char *vread_parse_role(const char *text);

/* The static part of a READ: 0, or -EINVAL. */
int vread_check_read(const struct vread_ioc_read *read, uint64_t slice_bytes);

/* The static part of a PUBLISH: 0, or -EINVAL. */
int vread_check_publish(const struct vread_ioc_publish *publish);
/* That of KEYS. */
int vread_check_keys(const struct vread_ioc_keys *keys);

/* A response to a request of that operation; a READ's length is max_status, 0 for
 * others.  NULL, or what is wrong with it. */
const char *vread_check_response(const struct vread_response *rsp, unsigned int operation,
				 uint32_t max_status);

/* A negative status as callers may see it: errors the protocol does not list become
 * -EIO, so that no backend can hand a caller the kernel's private error numbers. */
int vread_check_error(int32_t status);

#endif
