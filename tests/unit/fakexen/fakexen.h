/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fakexen.h - fakes of libxenstore, libxengnttab and libxenevtchn, for unit tests without Xen.
 *
 * The fakes are linked instead of the real libraries.  They simulate a host with domains; the test
 * sets up the domains' xenstore nodes, grants and event channels.  The fakes can fail on request.
 * A process has one simulated host: call fake_reset() between tests.
 */
#ifndef VREAD_FAKEXEN_H
#define VREAD_FAKEXEN_H

#include <stdbool.h>
#include <stdint.h>

void fake_reset(void);

/* ---- xenstore: as any domain would write it; watches fire ------------------- */
void fake_write(const char *value, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fake_remove(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Valid until the node is written again; NULL if absent. */
const char *fake_read(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Fires the watches on a path without a change. */
void fake_fire(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fake_introduce(uint32_t domid);
void fake_release(uint32_t domid);
/* absent: xenstored does not run.  fake_store_dies(): it ends while clients are connected. */
void fake_store_absent(bool absent);
void fake_store_dies(void);
unsigned fake_watches(void);
unsigned fake_open_transactions(void);
/* The next n transactions fail at their end, with EAGAIN. */
void fake_conflicts(unsigned n);
/* How often the program under test wrote nodes of that name, for example "state". */
unsigned fake_writes_of(const char *name);
/* How many nodes the program under test has read since fake_reset(). */
unsigned fake_reads(void);
/* Called before each write that the program under test makes. */
extern void (*fake_on_write)(const char *path, const char *value);

/* ---- grants: reference n is page n of the guests' memory, 1 .. FAKE_PAGES - 1 -- */
#define FAKE_PAGES 8192U
uint8_t *fake_page(uint32_t ref);
/* Mapping this reference fails. */
void fake_bad_ref(uint32_t ref);
/* The n-th map call from now on fails (1: the next); 0: none. */
void fake_fail_map(unsigned n);
void fake_fail_gnttab_open(bool fail);
/* Pages mapped now; map calls since fake_reset(); open handles. */
unsigned fake_mapped(void);
unsigned fake_map_calls(void);
unsigned fake_gnttab_handles(void);
/* True if the page was ever mapped writable. */
bool fake_was_writable(uint32_t ref);

/* ---- event channels ------------------------------------------------------------- */
/* The n-th open or bind from now on fails (1: the next); 0: none. */
void fake_fail_evtchn(unsigned n);
unsigned fake_evtchn_handles(void);
/* Sends an event from the guest's port. */
void fake_event(uint32_t remote_port);
/* How many events were sent to the guest's port, including those at the end of mappings. */
unsigned fake_notified(uint32_t remote_port);
/* True if the channel is masked: the program read an event and has not unmasked the channel. */
bool fake_masked(uint32_t remote_port);

/* Only the fakes call these functions. */
void fake_store_reset(void);
void fake_gnttab_reset(void);
void fake_evtchn_reset(void);
void fake_evtchn_unmapped(uint32_t local_port);

#endif
