/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * port_settings.h - converts the port sections of a configuration to the ports' own settings.
 *
 * Called by daemon.c at the start and by reload.c for a new configuration.
 */
#ifndef VREAD_PORT_SETTINGS_H
#define VREAD_PORT_SETTINGS_H

#include "control/config.h"
#include "port/ivshmem/ivshmem.h"
#include "port/local/local.h"
#include "port/xen/xen.h"

struct policy;

struct xen_settings port_xen_settings(const struct config *c);
/* policy is not set.  The strings belong to c. */
struct local_settings port_local_settings(const struct config *c);
/* The settings have c's strings, and an array for free().  False: out of memory (logged). */
bool port_ivshmem_settings(const struct config *c, struct ivshmem_settings *ret,
			   struct ivshmem_rights **ret_array);
/* The rights of local frontends.  NULL: failed (logged). */
struct policy *port_local_policy(const struct config *c);

#endif
