/* SPDX-License-Identifier: GPL-2.0 */
/*
 * params.h - the parameters of a transport's module.  Each transport has its own, so that
 * "options xen-vreadfront pool_mib=64" means what it says.
 */
#ifndef VREAD_PARAMS_H
#define VREAD_PARAMS_H

#include <linux/moduleparam.h>
#include <linux/types.h>

struct vread_params {
	unsigned int queues; /* 0: one per CPU, at most 4 */
	unsigned int ring_order;
	unsigned int pool_mib;
};

/* Defines the parameters of a module, with their defaults, as the static struct vread_params
 * name. */
#define VREAD_MODULE_PARAMS(name)                                                            \
	static struct vread_params name = {.ring_order = 1, .pool_mib = 16};                 \
	module_param_named(queues, name.queues, uint, 0444);                                 \
	MODULE_PARM_DESC(queues,                                                             \
			 "Queues per device, 1 to 8; 0 (default): one per CPU, at most 4");  \
	module_param_named(ring_order, name.ring_order, uint, 0444);                         \
	MODULE_PARM_DESC(ring_order,                                                         \
			 "log2 of the pages of each ring, 0 to 4; default 1 (64 requests)"); \
	module_param_named(pool_mib, name.pool_mib, uint, 0444);                             \
	MODULE_PARM_DESC(pool_mib, "MiB of memory shared with the host, 1 to 128; default 16")

/* When the module is loaded: 0, or -EINVAL for a value outside its range, which the log names. */
int vread_params_check(const struct vread_params *params);

#endif
