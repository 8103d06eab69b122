// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rdma/meet.c - from an address to two ends that have proved who they are.  end.c and
 * completions.c call these functions.
 *
 * The asker looks for the address and the route.  While the queue pair is made, both ends
 * exchange nonces, and the answerer sends its proof.  The asker's proof is the first message
 * (rdma/proof.h).
 */
#include "peer/rdma/end_private.h"

#include <errno.h>

#define RETRIES 6 /* seven would mean "for ever" with soft-RoCE */
#define RETRIES_NOT_READY 3
/* A packet is sent again after 4.096 us << timeout, where timeout has five bits (InfiniBand's
 * "local ACK timeout"). */
#define ACK_TIMEOUT_MAX 31

/* The shortest timeout with which the first packet and all its retries take give_up ms. */
static uint8_t ack_timeout(unsigned give_up)
{
	uint64_t each = (uint64_t)give_up * 1000000 / (1 + RETRIES);
	uint8_t t = 0;

	while (t < ACK_TIMEOUT_MAX && 4096ULL << t < each)
		t++;
	return t;
}

static struct rdma_conn_param parameters(const void *words, size_t length)
{
	return (struct rdma_conn_param){
		.private_data = words,
		.private_data_len = (uint8_t)length,
		.retry_count = RETRIES,
		.rnr_retry_count = RETRIES_NOT_READY,
	};
}

static void be_up(struct rdma_end *e)
{
	e->state = END_UP;
	e->was_up = true;
}

/* ---- the asker's way ----------------------------------------------------------------- */

int rdma_end_resolve(struct rdma_end *e, const struct sockaddr *address)
{
	uint8_t timeout = ack_timeout(e->give_up);

	if (rdma_create_id(e->channel, &e->id, e, RDMA_PS_TCP))
		return rdma_end_failed_errno(e, "rdma_create_id");
	if (rdma_set_option(e->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout,
			    sizeof(timeout)))
		return rdma_end_failed_errno(e, "rdma_set_option");
	if (rdma_resolve_addr(e->id, NULL, (struct sockaddr *)address, (int)e->give_up))
		return rdma_end_failed_errno(e, "rdma_resolve_addr");
	return 0;
}

static int dial(struct rdma_end *e)
{
	struct rdma_conn_param how;
	struct rdma_hello hello;

	if (rdma_end_make_pair(e))
		return e->failure;
	if (rdma_proof_hello(&e->secret, &e->meeting, &hello))
		return rdma_end_failed(e, -EIO, "no random numbers");
	how = parameters(&hello, sizeof(hello));
	if (rdma_connect(e->id, &how))
		return rdma_end_failed_errno(e, "rdma_connect");
	e->state = END_CONNECTING;
	return 0;
}

/* The queue pair is connected: checks the acceptance, which is the answerer's part. */
static int take_welcome(struct rdma_end *e, const struct rdma_conn_param *said)
{
	uint8_t proof[RDMA_PROOF_BYTES];

	e->meeting.asker_qp = e->id->qp->qp_num;
	e->meeting.answerer_qp = said->qp_num;
	if (rdma_proof_take_welcome(&e->secret, &e->meeting, said->private_data,
				    said->private_data_len, proof))
		return rdma_end_failed(e, -EPROTO,
				       "the other end of the queue pair is not the peer");
	be_up(e);
	return rdma_end_send_now(e, proof, sizeof(proof));
}

/* ---- the answerer's way -------------------------------------------------------------- */

int rdma_end_take_asker(struct rdma_end *e)
{
	struct rdma_conn_param how;
	struct rdma_welcome welcome;

	if (rdma_end_make_pair(e))
		return e->failure;
	e->meeting.answerer_qp = e->id->qp->qp_num;
	if (rdma_proof_welcome(&e->secret, &e->meeting, &welcome))
		return rdma_end_failed(e, -EIO, "no random numbers");
	how = parameters(&welcome, sizeof(welcome));
	if (rdma_accept(e->id, &how))
		return rdma_end_failed_errno(e, "rdma_accept");
	e->state = END_PROVING;
	return 0;
}

int rdma_end_take_proof(struct rdma_end *e, const uint8_t *data, size_t length)
{
	if (rdma_proof_check(&e->secret, &e->meeting, data, length))
		return rdma_end_failed(e, -EPROTO,
				       "the other end of the queue pair is not the peer");
	be_up(e);
	return 0;
}

/* ---- events -------------------------------------------------------------------------- */

static int on_connected(struct rdma_end *e, const struct rdma_conn_param *said)
{
	if (e->side == RDMA_ANSWERS)
		return 0; /* the asker's proof comes as the first message */
	if (e->state != END_CONNECTING)
		return rdma_end_failed(e, -EPROTO, "connected without being asked");
	return take_welcome(e, said);
}

static int on_resolved(struct rdma_end *e)
{
	if (rdma_resolve_route(e->id, (int)e->give_up))
		return rdma_end_failed_errno(e, "rdma_resolve_route");
	return 0;
}

static int on_event(struct rdma_end *e, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return on_resolved(e);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return dial(e);
	case RDMA_CM_EVENT_ESTABLISHED:
		return on_connected(e, &event->param.conn);
	case RDMA_CM_EVENT_DISCONNECTED:
		return rdma_end_failed(e, -ESHUTDOWN, "the peer ended the queue pair");
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		return rdma_end_failed(e, event->status < 0 ? event->status : -ECONNREFUSED,
				       "%s (%d)", rdma_event_str(event->event), event->status);
	}
}

int rdma_end_take_events(struct rdma_end *e)
{
	struct rdma_cm_event *event;

	while (!e->failure && rdma_get_cm_event(e->channel, &event) == 0) {
		on_event(e, event);
		rdma_ack_cm_event(event);
	}
	return e->failure;
}
