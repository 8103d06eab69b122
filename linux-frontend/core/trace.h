/* SPDX-License-Identifier: GPL-2.0 */
/*
 * trace.h - the tracepoints of vread-core, in tracefs below events/vread: each request and its
 * completion, links that go up and down, and the steps of the state machine.  vread(4) describes
 * them for users.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vread

#if !defined(VREAD_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define VREAD_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

#define VREAD_TRACE_NAME 16 /* bytes of a device's name, as in struct vread_device */

/* The form of the kernel's trace events. */
/* clang-format off */

TRACE_EVENT(vread_submit,
	TP_PROTO(const char *device, unsigned int queue, u16 id, u8 operation),
	TP_ARGS(device, queue, id, operation),
	TP_STRUCT__entry(
		__array(char, device, VREAD_TRACE_NAME)
		__field(u32, queue)
		__field(u16, id)
		__field(u8, operation)
	),
	TP_fast_assign(
		strscpy(__entry->device, device, VREAD_TRACE_NAME);
		__entry->queue = queue;
		__entry->id = id;
		__entry->operation = operation;
	),
	TP_printk("%s queue=%u id=%u operation=%u", __entry->device, __entry->queue, __entry->id,
		  __entry->operation)
);

/* status: of the response, or -ENOTCONN if the connection has ended. */
TRACE_EVENT(vread_complete,
	TP_PROTO(const char *device, unsigned int queue, u16 id, u8 operation, int status),
	TP_ARGS(device, queue, id, operation, status),
	TP_STRUCT__entry(
		__array(char, device, VREAD_TRACE_NAME)
		__field(u32, queue)
		__field(u16, id)
		__field(u8, operation)
		__field(int, status)
	),
	TP_fast_assign(
		strscpy(__entry->device, device, VREAD_TRACE_NAME);
		__entry->queue = queue;
		__entry->id = id;
		__entry->operation = operation;
		__entry->status = status;
	),
	TP_printk("%s queue=%u id=%u operation=%u status=%d", __entry->device, __entry->queue,
		  __entry->id, __entry->operation, __entry->status)
);

TRACE_EVENT(vread_link,
	TP_PROTO(const char *device, bool up, u32 generation),
	TP_ARGS(device, up, generation),
	TP_STRUCT__entry(
		__array(char, device, VREAD_TRACE_NAME)
		__field(bool, up)
		__field(u32, generation)
	),
	TP_fast_assign(
		strscpy(__entry->device, device, VREAD_TRACE_NAME);
		__entry->up = up;
		__entry->generation = generation;
	),
	TP_printk("%s %s generation=%u", __entry->device, __entry->up ? "up" : "down",
		  __entry->generation)
);

/* States are those of xenbus (1 Initialising to 6 Closed; 0: none is told). */
TRACE_EVENT(vread_step,
	TP_PROTO(const char *device, unsigned int phase, unsigned int backend, unsigned int own),
	TP_ARGS(device, phase, backend, own),
	TP_STRUCT__entry(
		__array(char, device, VREAD_TRACE_NAME)
		__field(u32, phase)
		__field(u32, backend)
		__field(u32, own)
	),
	TP_fast_assign(
		strscpy(__entry->device, device, VREAD_TRACE_NAME);
		__entry->phase = phase;
		__entry->backend = backend;
		__entry->own = own;
	),
	TP_printk("%s phase=%u backend=%u own=%u", __entry->device, __entry->phase,
		  __entry->backend, __entry->own)
);

/* clang-format on */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH core
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
