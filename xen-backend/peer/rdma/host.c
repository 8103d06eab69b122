// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/host.c - the RDMA devices in use, and the memory registered with them.  It implements
 * rdma/host.h, and rdma_new(), rdma_free() and the memories of rdma/rdma.h.  peers.c, pool.c,
 * peer/answering and the other files of peer/rdma call it.
 */
#include "peer/rdma/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#include "base/clock.h"
#include "base/log.h"

#define CONNECTIONS "/dev/infiniband/rdma_cm"
#define MAX_DEVICES 16U
#define PAUSE 1000U /* ms between attempts to register a memory */
/* Soft-RoCE: RXE_VENDOR_ID in Linux' drivers/infiniband/sw/rxe/rxe_param.h */
#define SOFT_ROCE 0xffffffU

/* A memory on one device. */
struct registration {
	struct ibv_mr *region; /* NULL: not registered */
	int error;             /* of the last attempt */
	uint64_t again;        /* after an error: when the next attempt may be (clock_ms()) */
};

struct rdma_memory {
	struct rdma *rdma;
	enum rdma_side side;
	uint8_t *base;
	size_t length;
	struct registration with[MAX_DEVICES];
	struct rdma_memory *next;
};

struct rdma {
	pthread_mutex_t lock; /* protects everything below, and the memories */
	struct rdma_device devices[MAX_DEVICES];
	unsigned num_devices;
	struct rdma_memory *memories;
};

int rdma_new(struct rdma **ret)
{
	struct rdma_event_channel *channel;
	struct rdma *r;

	/* Without this check librdmacm would write to stderr. */
	if (access(CONNECTIONS, R_OK | W_OK) < 0)
		return -ENODEV;
	channel = rdma_create_event_channel();
	if (!channel)
		return -ENODEV;
	rdma_destroy_event_channel(channel);
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	pthread_mutex_init(&r->lock, NULL);
	*ret = r;
	return 0;
}

static void forget_device(struct rdma_device *d)
{
	for (unsigned side = 0; side < RDMA_SIDES; side++)
		if (d->domains[side])
			ibv_dealloc_pd(d->domains[side]);
	memset(d, 0, sizeof(*d));
}

void rdma_free(struct rdma *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->num_devices; i++)
		forget_device(&r->devices[i]);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* A window of type 2 works on no queue pair but the one it was bound on (InfiniBand Architecture
 * Specification, "Memory Windows").  Any queue pair of its domain may use a window of type 1.
 *
 * Soft-RoCE goes back in the send queue to send a message again, and carries out again all that
 * stands behind the message.  A bind that was done already then fails, and the queue pair ends, or
 * stands still without an error (Linux 6.1, req_retry() and rxe_requester() in rxe_req.c). */
static int look_for_windows(struct rdma_device *d)
{
	struct ibv_device_attr a;
	int error = ibv_query_device(d->context, &a);

	if (error)
		return -error;
	d->has_windows = (a.device_cap_flags &
			  (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0;
	d->repeats_binds = d->has_windows && a.vendor_id == SOFT_ROCE;
	if (!d->has_windows)
		log_warn("adapter %s has no memory windows of type 2: what other hosts write goes "
			 "through buffers",
			 ibv_get_device_name(d->context->device));
	return 0;
}

static int make_domains(struct rdma_device *d)
{
	for (unsigned side = 0; side < RDMA_SIDES; side++) {
		d->domains[side] = ibv_alloc_pd(d->context);
		if (!d->domains[side])
			return -ENOMEM;
	}
	return 0;
}

static int add_device(struct rdma *r, struct ibv_context *context, struct rdma_device **ret)
{
	struct rdma_device *d = &r->devices[r->num_devices];
	int error;

	if (r->num_devices == MAX_DEVICES)
		return -ENODEV;
	d->rdma = r;
	d->context = context;
	error = make_domains(d);
	if (!error)
		error = look_for_windows(d);
	if (error) {
		forget_device(d);
		return error;
	}
	r->num_devices++;
	*ret = d;
	return 0;
}

int rdma_device_of(struct rdma *r, struct ibv_context *context, struct rdma_device **ret)
{
	int result = -ENODEV;

	pthread_mutex_lock(&r->lock);
	for (unsigned i = 0; i < r->num_devices && result; i++) {
		if (r->devices[i].context == context) {
			*ret = &r->devices[i];
			result = 0;
		}
	}
	if (result)
		result = add_device(r, context, ret);
	pthread_mutex_unlock(&r->lock);
	return result;
}

/* ---- memory ------------------------------------------------------------------------ */

int rdma_memory_new(struct rdma *r, enum rdma_side side, uint8_t *base, size_t length,
		    struct rdma_memory **ret)
{
	struct rdma_memory *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->rdma = r;
	m->side = side;
	m->base = base;
	m->length = length;
	pthread_mutex_lock(&r->lock);
	m->next = r->memories;
	r->memories = m;
	pthread_mutex_unlock(&r->lock);
	*ret = m;
	return 0;
}

static void unlink_memory(struct rdma_memory *m)
{
	struct rdma_memory **at = &m->rdma->memories;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
}

void rdma_memory_free(struct rdma_memory *m)
{
	int r;

	if (!m)
		return;
	pthread_mutex_lock(&m->rdma->lock);
	unlink_memory(m);
	pthread_mutex_unlock(&m->rdma->lock);
	for (unsigned i = 0; i < MAX_DEVICES; i++) {
		r = m->with[i].region ? ibv_dereg_mr(m->with[i].region) : 0;
		/* The device could still write to this memory when it belongs to somebody else. */
		if (r) {
			log_error("cannot deregister memory from adapter %s: %s",
				  ibv_get_device_name(m->rdma->devices[i].context->device),
				  strerror(r));
			abort();
		}
	}
	free(m);
}

static struct rdma_memory *find(struct rdma *r, enum rdma_side side, const uint8_t *at,
				size_t length)
{
	for (struct rdma_memory *m = r->memories; m; m = m->next) {
		if (m->side == side && at >= m->base && (size_t)(at - m->base) <= m->length &&
		    length <= m->length - (size_t)(at - m->base))
			return m;
	}
	return NULL;
}

/* A host may lack the room to pin the memory for a moment only.  So another attempt follows. */
static int register_with(struct rdma_memory *m, unsigned i)
{
	struct rdma_device *d = &m->rdma->devices[i];
	struct registration *r = &m->with[i];
	int access = IBV_ACCESS_LOCAL_WRITE, before = r->error;

	if (r->region || (r->error && clock_ms() < r->again))
		return r->error;
	if (m->side == RDMA_ASKS)
		access |= IBV_ACCESS_MW_BIND;
	errno = 0;
	r->region = ibv_reg_mr(d->domains[m->side], m->base, m->length, access);
	r->error = r->region ? 0 : errno ? -errno : -EIO;
	r->again = clock_ms() + PAUSE;
	if (r->error && r->error != before)
		log_warn("adapter %s cannot register %zu bytes of memory: %s",
			 ibv_get_device_name(d->context->device), m->length, strerror(-r->error));
	return r->error;
}

int rdma_region_of(struct rdma_device *d, enum rdma_side side, const uint8_t *at, size_t length,
		   struct ibv_mr **ret)
{
	unsigned i = (unsigned)(d - d->rdma->devices);
	struct rdma_memory *m;
	int r = -ENOENT;

	if (side == RDMA_ASKS && !d->has_windows)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&d->rdma->lock);
	m = find(d->rdma, side, at, length);
	if (m)
		r = register_with(m, i);
	if (!r)
		*ret = m->with[i].region;
	pthread_mutex_unlock(&d->rdma->lock);
	return r;
}
