/* SPDX-License-Identifier: GPL-2.0 */
/*
 * wait.h - a wait of a process for the backend: only a fatal signal interrupts it, and it does not
 * delay a suspend.
 */
#ifndef VREAD_WAIT_H
#define VREAD_WAIT_H

#include <linux/freezer.h>
#include <linux/sched.h>
#include <linux/wait.h>

/* As wait_event_killable_timeout().  Returns the jiffies left (at least 1), 0: timeout, or
 * -ERESTARTSYS: fatal signal. */
#define vread_wait(wq, condition, timeout)                                                  \
	({                                                                                  \
		long __ret = (timeout);                                                     \
		might_sleep();                                                              \
		if (!___wait_cond_timeout(condition))                                       \
			__ret = ___wait_event(wq, ___wait_cond_timeout(condition),          \
					      (TASK_KILLABLE | TASK_FREEZABLE), 0, timeout, \
					      __ret = schedule_timeout(__ret));             \
		__ret;                                                                      \
	})

#endif
