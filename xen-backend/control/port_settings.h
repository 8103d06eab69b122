/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * port_settings.h - what a configuration says of the ports, as they take it.
 */
#ifndef VREAD_PORT_SETTINGS_H
#define VREAD_PORT_SETTINGS_H

#include "control/config.h"
#include "port/local/local.h"
#include "port/xen/xen.h"

struct policy;

struct xen_settings port_xen_settings(const struct config *c);
/* Without a policy; its texts are c's. */
struct local_settings port_local_settings(const struct config *c);
/* What local frontends may; NULL: it was logged why. */
struct policy *port_local_policy(const struct config *c);

#endif
