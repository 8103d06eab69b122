/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turbo_state.h - keeps in a file the settings that `xl-vread turbo on` is about to change.  So
 * `off` can put them back, even if `on` was killed halfway.  Called by turbo.c.
 *
 * The settings include a domain's weight, cap and affinities, because Xen forgets them when the
 * domain moves to another pool.  Domains are identified by their UUIDs: a domain that rebooted
 * meanwhile has another id.
 *
 * The file is /run/xl-vread.turbo; the environment variable VREAD_TURBO names another file.  The
 * file, like the pools, does not survive a restart of Xen.  All functions returning int: CLI_OK, or
 * an exit code of cli.h after printing what is wrong.
 */
#ifndef XL_VREAD_TURBO_STATE_H
#define XL_VREAD_TURBO_STATE_H

#include "cpupools.h"
#include "domains.h"

struct turbo_pin {
	unsigned vcpu;
	char *hard, *soft; /* as xl writes them */
};

struct turbo_domain {
	char uuid[DOMAIN_UUID];
	char pool[POOL_NAME];
	unsigned weight, cap;
	struct turbo_pin *pin;
	unsigned num_pins;
};

struct turbo_state {
	struct cpus cpus; /* taken from Pool-0 */
	struct turbo_domain *domain;
	unsigned num_domains;
};

/* Call turbo_state_free(ret) also after a failure.  *ret_there: the file exists. */
int turbo_state_read(struct turbo_state *ret, bool *ret_there);
void turbo_state_free(struct turbo_state *s);
/* Replaces the file, as a whole or not at all. */
int turbo_state_write(const struct turbo_state *s);
int turbo_state_remove(void);
const char *turbo_state_path(void);

/* Keeps the domain's present settings, in place of earlier ones.  from: its pool, of scheduler
 * credit. */
int turbo_state_keep(struct turbo_state *s, const struct domain *d, const struct pool *from);
/* NULL: nothing was kept for the domain. */
const struct turbo_domain *turbo_state_find(const struct turbo_state *s, const struct domain *d);
/* Restores weight and cap of a domain in `pool`, if `pool` has scheduler credit. */
int turbo_state_restore_weight(const struct turbo_domain *kept, unsigned domid,
			       const struct pool *pool);
/* Restores weight, cap and affinities, when the domain is back in its old pool `pool`. */
int turbo_state_restore(const struct turbo_domain *kept, unsigned domid, const struct pool *pool);

#endif
