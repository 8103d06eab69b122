/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kvm.h - `xl-vread init` on a host of KVM: writes sections of vread.conf(5), and prints devices
 * for the guests' QEMUs.  Called by init.c. */
#ifndef XL_VREAD_INIT_KVM_H
#define XL_VREAD_INIT_KVM_H

#include <stdbool.h>

/* What the operator asks for. */
struct kvm_wishes {
	const char **datanodes; /* each NAME=IMAGE[,DIRECTORY...] */
	const char **clients;   /* names of guests */
	unsigned num_datanodes, num_clients;
	bool yes; /* writes without asking */
};

/* CLI_OK, or an exit code of cli.h after printing what is wrong: then nothing was written. */
int init_kvm(const struct kvm_wishes *w);

/* init.c.  Asks whether to write; fails without a terminal unless yes. */
int init_confirm(bool yes);

#endif
