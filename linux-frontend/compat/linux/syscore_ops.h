/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Before Linux 6.19, and in stable kernels without its backport, what is registered is a struct
 * syscore_ops, whose functions have no argument.  Here it lies in a struct syscore.  A file has one
 * struct syscore at most.  Kbuild finds out which kernel it is.
 */
#include_next <linux/syscore_ops.h>

#ifndef VREAD_COMPAT_SYSCORE_OPS_H
#define VREAD_COMPAT_SYSCORE_OPS_H

#ifndef VREAD_HAVE_SYSCORE
struct vread_syscore_ops {
	int (*suspend)(void *data);
};

struct syscore {
	struct syscore_ops registered;
	const struct vread_syscore_ops *ops;
	void *data;
};

#define syscore_ops vread_syscore_ops

static struct syscore *vread_syscore;

static inline int vread_syscore_suspend(void)
{
	return vread_syscore->ops->suspend(vread_syscore->data);
}

static inline void register_syscore(struct syscore *syscore)
{
	vread_syscore = syscore;
	syscore->registered.suspend = vread_syscore_suspend;
	register_syscore_ops(&syscore->registered);
}

static inline void unregister_syscore(struct syscore *syscore)
{
	unregister_syscore_ops(&syscore->registered);
}
#endif

#endif
