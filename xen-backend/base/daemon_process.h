/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_process.h - what a daemon with an event loop asks of its process. control/daemon.c and
 * ivshmem-server/main.c call it once, before they start a thread.
 */
#ifndef VREAD_DAEMON_PROCESS_H
#define VREAD_DAEMON_PROCESS_H

#include <systemd/sd-event.h>

/* Keeps a SIGHUP pending until daemon_catch_signals(). A daemon that it ends while it starts stays
 * down: for systemd this is an orderly end. Call it first. */
void daemon_hold_hangup(void);
/* SIGTERM and SIGINT end the loop, with a line in the log; SIGHUP calls on_hangup with ctx. These
 * signals are blocked in the calling thread and in all threads that it makes. SIGPIPE is ignored.
 * 0 or negative errno. */
int daemon_catch_signals(sd_event *event, sd_event_signal_handler_t on_hangup, void *ctx);
/* Raises the limit of open files to its maximum: a device of a guest needs dozens. */
void daemon_raise_file_limit(void);

#endif
