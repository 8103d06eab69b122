// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/dial.c - the states of dialling: see rdma/dial.h.  making.c and transport.c call it.
 */
#include "peer/rdma/dial.h"

#define CALL_MS 10000U /* the kernel would try for a minute */
#define FIRST_PAUSE 2000U
#define LONGEST_PAUSE 60000U

void rdma_dial_begin(struct rdma_dial *d, const struct rdma_choice *choice, uint64_t now)
{
	*d = (struct rdma_dial){.or_tls = choice->or_tls,
				.until = now + choice->pause,
				.patience_ends = now + choice->patience,
				.pause = FIRST_PAUSE};
	if (choice->pause)
		d->patience_ends = 0;
}

bool rdma_dial_is_due(struct rdma_dial *d, uint64_t now)
{
	if (d->state != RDMA_DIAL_PAUSES || now < d->until)
		return false;
	d->state = RDMA_DIAL_CALLS;
	d->until = now + CALL_MS;
	return true;
}

bool rdma_dial_is_overdue(const struct rdma_dial *d, uint64_t now)
{
	return d->state == RDMA_DIAL_CALLS && now >= d->until;
}

bool rdma_dial_failed(struct rdma_dial *d, uint64_t now)
{
	d->state = RDMA_DIAL_PAUSES;
	d->until = now + d->pause;
	d->patience_ends = 0;
	d->pause = d->pause < LONGEST_PAUSE / 2 ? 2 * d->pause : LONGEST_PAUSE;
	return d->or_tls;
}

void rdma_dial_succeeded(struct rdma_dial *d)
{
	d->state = RDMA_DIAL_UP;
}

bool rdma_dial_goes_by_tls(const struct rdma_dial *d, uint64_t now)
{
	return d->or_tls && d->state != RDMA_DIAL_UP && now >= d->patience_ends;
}

uint64_t rdma_dial_next(const struct rdma_dial *d, uint64_t now)
{
	if (d->state == RDMA_DIAL_UP)
		return UINT64_MAX;
	return d->or_tls && now < d->patience_ends && d->patience_ends < d->until ? d->patience_ends
										  : d->until;
}
