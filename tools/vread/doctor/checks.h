/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checks.h - the checks of `vread doctor`, and what they share.  doctor.c has their order, and
 * calls them. */
#ifndef VREAD_DOCTOR_CHECKS_H
#define VREAD_DOCTOR_CHECKS_H

#include "cli/doctor/doctor.h"

struct facts {
	/* Options; NULL: not given. */
	const char *endpoint, *user, *hadoop_conf, *class_path, *datanode;

	/* What checks found, for later checks. */
	int xs_error;            /* errno of the attempt to open xenstore */
	bool no_xen;             /* not a guest of Xen, or none is needed */
	char pci[64];            /* the device of a guest of KVM; "": none */
	bool no_module;          /* the guest's module is not loaded */
	bool has_device;         /* the guest has a vread device */
	bool node_usable;        /* the user may open the endpoint */
	bool is_datanode;        /* the device's role */
	char conf_dir[PATH_MAX]; /* of Hadoop; "": there is none */
};

/* The path of vread's endpoint: of --endpoint or VREAD_ENDPOINT, else /dev/vread under root. */
const char *endpoint_path(const struct doctor *d, char buf[PATH_MAX]);
/* True if the endpoint is a socket.  If there is no such file, its path decides. */
bool endpoint_is_socket(const struct doctor *d);

/* guest.c: module, device, node and rights of a guest */
void check_guest(struct doctor *d);
void check_module(struct doctor *d);
void check_device(struct doctor *d);
void check_node(struct doctor *d);
void check_allowed(struct doctor *d);
void check_publisher(struct doctor *d);

/* pci.c: the device of a guest of KVM.  pci_find() sets facts->pci; false: there is none. */
bool pci_find(struct doctor *d);
void pci_check(struct doctor *d);

/* backend.c: whether the backend answers */
void check_protocol(struct doctor *d);
void check_answer(struct doctor *d);

/* hadoop.c: Hadoop's configuration */
void check_hadoop(struct doctor *d);

/* java.c: Hadoop's class path, and Java */
void check_java(struct doctor *d);

#endif
