/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checks.h - the checks of `xl-vread doctor`, and what they share.  doctor.c has their order, and
 * calls them. */
#ifndef XL_VREAD_DOCTOR_CHECKS_H
#define XL_VREAD_DOCTOR_CHECKS_H

#include "cli/doctor/doctor.h"
#include "control/config.h"
#include "keys/keys.h"

struct facts {
	/* Options; NULL: not given. */
	const char *config_path, *socket;

	/* What checks found, for later checks. */
	struct config *config; /* NULL: there is no valid configuration */
	json_t *status;        /* of vreadd; NULL: vreadd does not answer */
	struct keys_list keys; /* of datanodes, in xenstore; none if vreadd does not read them */
	bool no_xen;           /* no hypervisor */
	bool is_kvm;           /* a host of KVM: no Xen, and KVM or guests of KVM */
};

/* host.c: what vreadd needs in dom0 */
void check_xen(struct doctor *d);
void check_xen_nodes(struct doctor *d);
void check_xenstore(struct doctor *d);
void check_rdma(struct doctor *d);

/* daemon.c: vreadd itself */
void check_config(struct doctor *d);
void check_daemon(struct doctor *d);
void check_ports(struct doctor *d);

/* keys.c: datanodes by keys in xenstore */
void check_datanode_keys(struct doctor *d);

/* datanodes.c: images and their contents */
void check_images(struct doctor *d);
void check_datanodes(struct doctor *d);
void check_parsers(struct doctor *d);
void check_provision(struct doctor *d);

/* tokens.c: block tokens of the datanodes */
void check_tokens(struct doctor *d);

/* storages.c: whose the storages are, and clones of clusters */
void check_storages(struct doctor *d);
void check_clones(struct doctor *d);

/* peers.c: other hosts */
void check_certificates(struct doctor *d);
void check_peers(struct doctor *d);

/* devices.c: guests' devices, in xenstore */
void check_devices(struct doctor *d);
/* Adds a failure for each name of the list, which is changed, that nothing configures. */
void check_names(struct doctor *d, const char *device, char *list, const char *remedy);

/* The entry of this list of vreadd's status whose member `key` is `name`, or NULL. */
const json_t *status_entry(const struct doctor *d, const char *list, const char *key,
			   const char *name);

/* kvm.c: guests of KVM, their sockets and QEMUs */
void check_kvm(struct doctor *d);

#endif
