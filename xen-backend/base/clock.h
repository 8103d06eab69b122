/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clock.h - the time for deadlines and pauses. */
#ifndef VREAD_CLOCK_H
#define VREAD_CLOCK_H

#include <stdint.h>

/* ms of a clock that only goes on, from no moment in particular.  Any thread. */
uint64_t clock_ms(void);

#endif
