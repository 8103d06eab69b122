/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settings.h - [peers] and [peer NAME] of vread.conf(5), as control/config.c fills them in.
 */
#ifndef VREAD_PEER_SETTINGS_H
#define VREAD_PEER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#define PEERS_MAX 1024U                /* [peer] sections of a file */
#define PEERS_MAX_EVER (4 * PEERS_MAX) /* names of peers, from vreadd's start to its end */

struct peer_config {
	char *name;            /* in its certificate */
	char *address;         /* IP:PORT or [IP]:PORT; "": it only asks */
	char *storages;        /* DATANODE/STORAGE, separated by spaces */
	char *datanodes;       /* patterns of datanodes whose storages it may announce */
	char *allow_datanodes; /* what it may read here */
	char *allow_pools;
	unsigned line; /* of its section */
};

struct peers_config {
	char *listen;                 /* as peer_config.address; "": nobody is answered */
	char *name;                   /* of this host, in its certificate; "": no peers at all */
	char *certificate, *key, *ca; /* PEM files */
	char *crl;                    /* another; "": nobody is revoked */
	unsigned transports;          /* MESSAGE_TRANSPORT_* that may be used */
	unsigned idle_timeout;        /* seconds */
	unsigned answer_timeout;      /* milliseconds */
	unsigned workers;             /* threads that answer, at least one */
	unsigned buffers;             /* of a MiB, that answers are sent from; at least 8 */
	struct peer_config *peers;
	size_t num_peers;
	unsigned line; /* of [peers]; 0: there is none */
};

/* False: out of memory, and nothing is in *to.  To be freed. */
bool peer_config_copy(struct peer_config *to, const struct peer_config *from);
/* What it holds. */
void peer_config_free(struct peer_config *c);
/* Whether all but the lines are the same. */
bool peer_config_same(const struct peer_config *a, const struct peer_config *b);

#endif
