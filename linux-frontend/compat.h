/* SPDX-License-Identifier: GPL-2.0 */
/*
 * compat.h - all differences between the kernels on which this module builds, Linux 5.10 and
 * later.  The other files of the module include it.
 *
 * Stable kernels backport interfaces.  So the type of an interface decides where possible, and the
 * kernel's version only elsewhere.
 */
#ifndef VREAD_COMPAT_H
#define VREAD_COMPAT_H

#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/syscore_ops.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/freezer.h>
#include <xen/grant_table.h>
#include <xen/xenbus.h>

#include "vreadif.h"

#if PAGE_SIZE != XEN_PAGE_SIZE
#error "vread shares whole pages of 4 KiB: the kernel's page size must be Xen's"
#endif

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

/* Ends access of the other end.  The reference to the page is put when the other end has unmapped
 * the page. */
static inline void vread_end_access(grant_ref_t ref, struct page *page)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 19, 0)
	gnttab_end_foreign_access(ref, page);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
	gnttab_end_foreign_access(ref, (unsigned long)page_address(page));
#else
	gnttab_end_foreign_access(ref, 0, (unsigned long)page_address(page));
#endif
}

/* Ends access without freeing the grant reference.  False: the other end has the page mapped. */
static inline bool vread_end_access_ref(grant_ref_t ref)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
	return gnttab_end_foreign_access_ref(ref);
#else
	return gnttab_end_foreign_access_ref(ref, 0);
#endif
}

static inline void vread_vm_flags(struct vm_area_struct *vma, unsigned long set,
				  unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/* A wait that only a fatal signal interrupts, and that does not delay a suspend. */
#ifdef TASK_FREEZABLE
#define VREAD_WAIT_STATE (TASK_KILLABLE | TASK_FREEZABLE)
#define vread_wait_schedule(timeout) schedule_timeout(timeout)
#else
#define VREAD_WAIT_STATE TASK_KILLABLE
#define vread_wait_schedule(timeout) freezable_schedule_timeout(timeout)
#endif

/* As wait_event_killable_timeout().  Returns the jiffies left (at least 1), 0: timeout, or
 * -ERESTARTSYS: fatal signal. */
#define vread_wait(wq, condition, timeout)                                         \
	({                                                                         \
		long __ret = (timeout);                                            \
		might_sleep();                                                     \
		if (!___wait_cond_timeout(condition))                              \
			__ret = ___wait_event(wq, ___wait_cond_timeout(condition), \
					      VREAD_WAIT_STATE, 0, timeout,        \
					      __ret = vread_wait_schedule(__ret)); \
		__ret;                                                             \
	})

/* function() is called at the last moment before the guest is suspended. */
#ifdef VREAD_HAVE_SYSCORE /* set by Kbuild: Linux 6.19, and stable kernels with a backport */
#define VREAD_SYSCORE(name, function)                                          \
	static int name##_call(void *data)                                     \
	{                                                                      \
		return function();                                             \
	}                                                                      \
	static const struct syscore_ops name##_ops = {.suspend = name##_call}; \
	static struct syscore name = {.ops = &name##_ops}
#define vread_syscore_register(syscore) register_syscore(syscore)
#define vread_syscore_unregister(syscore) unregister_syscore(syscore)
#else
#define VREAD_SYSCORE(name, function) static struct syscore_ops name = {.suspend = function}
#define vread_syscore_register(syscore) register_syscore_ops(syscore)
#define vread_syscore_unregister(syscore) unregister_syscore_ops(syscore)
#endif

/* In older kernels, remove of struct xenbus_driver returns int. */
#define VREAD_REMOVE_RETURNS_VOID                                                    \
	__builtin_types_compatible_p(typeof(((struct xenbus_driver *)NULL)->remove), \
				     void (*)(struct xenbus_device *))
#define VREAD_XENBUS_REMOVE(fn_void, fn_int) \
	__builtin_choose_expr(VREAD_REMOVE_RETURNS_VOID, fn_void, fn_int)

#endif
