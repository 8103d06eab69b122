// SPDX-License-Identifier: GPL-2.0
/*
 * Implements params.h.  vread-core itself has no parameters; its description is here, too.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/errno.h>
#include <linux/module.h>
#include <linux/printk.h>

#include "params.h"
#include "vreadif.h"

static bool param_ok(const char *name, unsigned int value, unsigned int min, unsigned int max)
{
	if (value >= min && value <= max)
		return true;
	pr_err("parameter %s=%u: must be %u to %u\n", name, value, min, max);
	return false;
}

int vread_params_check(const struct vread_params *params)
{
	if (!param_ok("queues", params->queues, 0, VREAD_MAX_QUEUES) ||
	    !param_ok("ring_order", params->ring_order, 0, VREAD_MAX_RING_PAGE_ORDER) ||
	    !param_ok("pool_mib", params->pool_mib, 1, 128))
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_GPL(vread_params_check);

MODULE_DESCRIPTION("Frontend of vRead: HDFS blocks read through the host");
MODULE_LICENSE("GPL");
