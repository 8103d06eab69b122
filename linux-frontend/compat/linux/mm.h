/* SPDX-License-Identifier: GPL-2.0 */
#include_next <linux/mm.h>

#ifndef VREAD_COMPAT_MM_H
#define VREAD_COMPAT_MM_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

#endif
