/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settings.h - settings of the sections [peers] and [peer NAME] of vread.conf(5).
 *
 * control/config.c and control/config/ fill them in.  The code in peer/ reads them.
 */
#ifndef VREAD_PEER_SETTINGS_H
#define VREAD_PEER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#define PEERS_MAX 1024U                /* [peer] sections in a file */
#define PEER_MAX_STREAMS 4U            /* connections to one peer */
#define PEER_STREAMS 2U                /* the same, by default */
#define PEERS_MAX_EVER (4 * PEERS_MAX) /* different names of peers while vreadd runs */

struct peer_config {
	char *name;            /* the name in the peer's certificate */
	char *address;         /* IP:PORT or [IP]:PORT; "": the peer only asks */
	char *storages;        /* DATANODE/STORAGE, separated by spaces */
	char *datanodes;       /* patterns: the peer may announce storages of these datanodes */
	char *allow_datanodes; /* datanodes that the peer may read here */
	char *allow_pools;     /* block pools that the peer may read here */
	unsigned line;         /* line of the section */
	unsigned frames;       /* MESSAGE_TRANSPORT_* by which bytes may go unencrypted; 0: none */
};

struct peers_config {
	char *listen;                 /* as peer_config.address; "": no peer is answered */
	char *name;                   /* in this host's certificate; "": no peers at all */
	char *certificate, *key, *ca; /* PEM files */
	char *crl;                    /* PEM file; "": no certificate is revoked */
	unsigned transports;          /* MESSAGE_TRANSPORT_* that may be used */
	unsigned idle_timeout;        /* seconds */
	unsigned answer_timeout;      /* milliseconds */
	unsigned streams;             /* most connections to one peer, to PEER_MAX_STREAMS */
	unsigned workers;             /* threads that answer; at least 1 */
	unsigned buffers;             /* buffers of 1 MiB that answers are sent from; at least 8 */
	struct peer_config *peers;
	size_t num_peers;
	unsigned line; /* line of [peers]; 0: there is no such section */
};

/* Copies from into *to, which the caller frees with peer_config_free().  False: out of memory; *to
 * is empty. */
bool peer_config_copy(struct peer_config *to, const struct peer_config *from);
/* Frees the strings in *c, not c. */
void peer_config_free(struct peer_config *c);
/* True if all settings are equal.  The lines are not compared. */
bool peer_config_same(const struct peer_config *a, const struct peer_config *b);

#endif
