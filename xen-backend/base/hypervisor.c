// SPDX-License-Identifier: GPL-2.0-or-later
/* hypervisor.c - implements hypervisor.h: reads a file that only Xen's kernels have. */
#include "base/hypervisor.h"

#include <stdio.h>
#include <string.h>

bool hypervisor_is_xen(void)
{
	char type[8] = "";
	FILE *f = fopen("/sys/hypervisor/type", "re");

	if (f && !fgets(type, sizeof(type), f))
		type[0] = '\0';
	if (f)
		fclose(f);
	return strncmp(type, "xen", 3) == 0;
}
