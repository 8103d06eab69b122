/* SPDX-License-Identifier: GPL-2.0-or-later */
/* checks.h - what `vread doctor` looks at; doctor.c says in which order and where. */
#ifndef VREAD_DOCTOR_CHECKS_H
#define VREAD_DOCTOR_CHECKS_H

#include "doctor.h"

/* host.c: what vreadd needs of dom0 */
void check_xen(struct doctor *d);
void check_xen_nodes(struct doctor *d);
void check_xenstore(struct doctor *d);
void check_rdma(struct doctor *d);

/* daemon.c: vreadd itself */
void check_config(struct doctor *d);
void check_daemon(struct doctor *d);
void check_ports(struct doctor *d);

/* datanodes.c: images and what is in them */
void check_images(struct doctor *d);
void check_datanodes(struct doctor *d);
void check_parsers(struct doctor *d);
void check_provision(struct doctor *d);

/* peers.c: other hosts */
void check_certificates(struct doctor *d);
void check_peers(struct doctor *d);

/* devices.c: of guests, in xenstore */
void check_devices(struct doctor *d);

/* guest.c: what a guest has */
void check_guest(struct doctor *d);
void check_module(struct doctor *d);
void check_device(struct doctor *d);
void check_node(struct doctor *d);
void check_allowed(struct doctor *d);

/* backend.c: does the other end answer */
void check_protocol(struct doctor *d);
void check_answer(struct doctor *d);

/* hadoop.c: its configuration */
void check_hadoop(struct doctor *d);

/* java.c: what Hadoop loads */
void check_java(struct doctor *d);

#endif
