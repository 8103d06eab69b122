/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turbo_state.h - what `xl-vread turbo on` is about to change, kept in a file before it does, so that
 * `off` can put it back even if `on` was killed halfway.
 *
 * Xen forgets a domain's weight, cap and affinities when it moves to another pool, so those are kept,
 * too.  Domains are known by their UUIDs: a domain that rebooted meanwhile has another id.
 *
 * The file is /run/xl-vread.turbo (VREAD_TURBO names another): pools do not outlive a restart of Xen
 * either.  All functions returning int: an exit code of cli.h, after printing what is wrong.
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
	struct cpus cpus; /* of Pool-0 */
	struct turbo_domain *domain;
	unsigned num_domains;
};

/* turbo_state_free() it, also after a failure. */
int turbo_state_read(struct turbo_state *ret, bool *ret_there);
void turbo_state_free(struct turbo_state *s);
/* On disk as a whole or not at all. */
int turbo_state_write(const struct turbo_state *s);
int turbo_state_remove(void);
const char *turbo_state_path(void);

/* How the domain is now, in pool `from` of scheduler credit, instead of what was kept of it before. */
int turbo_state_keep(struct turbo_state *s, const struct domain *d, const struct pool *from);
/* NULL: nothing was kept. */
const struct turbo_domain *turbo_state_find(const struct turbo_state *s, const struct domain *d);
/* In `pool`, if that has credit's weights and caps. */
int turbo_state_restore_weight(const struct turbo_domain *kept, unsigned domid,
			       const struct pool *pool);
/* That and its pins, once it is in `pool` again, the one it was in. */
int turbo_state_restore(const struct turbo_domain *kept, unsigned domid, const struct pool *pool);

#endif
