/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Before Linux 6.1 no task state says that a task may be frozen where it waits.  The function that
 * waits says it.
 */
#include_next <linux/freezer.h>

#ifndef VREAD_COMPAT_FREEZER_H
#define VREAD_COMPAT_FREEZER_H

#ifndef TASK_FREEZABLE
#define TASK_FREEZABLE 0
#define schedule_timeout(timeout) freezable_schedule_timeout(timeout)
#endif

#endif
