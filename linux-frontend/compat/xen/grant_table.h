/* SPDX-License-Identifier: GPL-2.0 */
#include_next <xen/grant_table.h>

#ifndef VREAD_COMPAT_GRANT_TABLE_H
#define VREAD_COMPAT_GRANT_TABLE_H

#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0)
#define gnttab_end_foreign_access_ref(ref) gnttab_end_foreign_access_ref(ref, 0)
#define gnttab_end_foreign_access(ref, page) \
	gnttab_end_foreign_access(ref, 0, (unsigned long)page_address(page))
#elif LINUX_VERSION_CODE < KERNEL_VERSION(5, 19, 0)
#define gnttab_end_foreign_access(ref, page) \
	gnttab_end_foreign_access(ref, (unsigned long)page_address(page))
#endif

#endif
