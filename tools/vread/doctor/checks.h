/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checks.h - the checks of `vread doctor`.  doctor.c has their order, and calls them in dom0 or in
 * a guest. */
#ifndef VREAD_DOCTOR_CHECKS_H
#define VREAD_DOCTOR_CHECKS_H

#include "doctor.h"

/* host.c: what vreadd needs in dom0 */
void check_xen(struct doctor *d);
void check_xen_nodes(struct doctor *d);
void check_xenstore(struct doctor *d);
void check_rdma(struct doctor *d);

/* daemon.c: vreadd itself */
void check_config(struct doctor *d);
void check_daemon(struct doctor *d);
void check_ports(struct doctor *d);

/* datanodes.c: images and their contents */
void check_images(struct doctor *d);
void check_datanodes(struct doctor *d);
void check_parsers(struct doctor *d);
void check_provision(struct doctor *d);

/* peers.c: other hosts */
void check_certificates(struct doctor *d);
void check_peers(struct doctor *d);

/* devices.c: guests' devices, in xenstore */
void check_devices(struct doctor *d);

/* guest.c: module, device, node and rights of a guest */
void check_guest(struct doctor *d);
void check_module(struct doctor *d);
void check_device(struct doctor *d);
void check_node(struct doctor *d);
void check_allowed(struct doctor *d);

/* backend.c: whether the backend answers */
void check_protocol(struct doctor *d);
void check_answer(struct doctor *d);

/* hadoop.c: Hadoop's configuration */
void check_hadoop(struct doctor *d);

/* java.c: Hadoop's class path, and Java */
void check_java(struct doctor *d);

#endif
