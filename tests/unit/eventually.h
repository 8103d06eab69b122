/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eventually.h - waits until a condition holds, however busy the machine is; for unit tests. */
#ifndef VREAD_TEST_EVENTUALLY_H
#define VREAD_TEST_EVENTUALLY_H

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

/* Any thread.  Ends the program if the condition does not hold within 2 min of real time. */
#define eventually(condition)                                                                    \
	do {                                                                                     \
		for (unsigned ms_ = 0; !(condition); ms_++) {                                    \
			if (ms_ == 120000) {                                                     \
				fprintf(stderr, "%s:%d: not within two minutes: %s\n", __FILE__, \
					__LINE__, #condition);                                   \
				abort();                                                         \
			}                                                                        \
			clock_rest_us(1000);                                                     \
		}                                                                                \
	} while (0)

#endif
