/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fakexen.h - libxenstore, libxengnttab and libxenevtchn without Xen.
 *
 * Linked in front of the real libraries, these stand for a host with domains
 * whose xenstore, grants and event channels a test writes itself.  Each can be
 * told to fail.  One process, one world: fake_reset() between tests.
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
/* Fires the watches on a path although nothing happened. */
void fake_fire(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fake_introduce(uint32_t domid);
void fake_release(uint32_t domid);
/* No xenstored at all; or one that dies under its clients. */
void fake_store_absent(bool absent);
void fake_store_dies(void);
unsigned fake_watches(void);
unsigned fake_open_transactions(void);
/* The next n transactions meet another's change. */
void fake_conflicts(unsigned n);
/* Writes the program under test made to nodes of that name ("state"). */
unsigned fake_writes_of(const char *name);
/* Called at each write the program under test makes. */
extern void (*fake_on_write)(const char *path, const char *value);

/* ---- grants: reference n is page n of the guests' memory, 1 .. FAKE_PAGES - 1 -- */
#define FAKE_PAGES 8192U
uint8_t *fake_page(uint32_t ref);
/* Mapping this reference fails. */
void fake_bad_ref(uint32_t ref);
/* The n-th map call from now on fails (1: the next); 0: none. */
void fake_fail_map(unsigned n);
void fake_fail_gnttab_open(bool fail);
/* Pages mapped now; calls made so far; handles open. */
unsigned fake_mapped(void);
unsigned fake_map_calls(void);
unsigned fake_gnttab_handles(void);
/* Was the page ever mapped writable? */
bool fake_was_writable(uint32_t ref);

/* ---- event channels ------------------------------------------------------------- */
/* The n-th open or bind from now on fails; 0: none. */
void fake_fail_evtchn(unsigned n);
unsigned fake_evtchn_handles(void);
/* An event from the guest on its port. */
void fake_event(uint32_t remote_port);
/* Events the guest was sent on its port, those of ended mappings included. */
unsigned fake_notified(uint32_t remote_port);
/* Is the channel masked, that is: taken and not yet let come again? */
bool fake_masked(uint32_t remote_port);

/* For the fakes among themselves. */
void fake_store_reset(void);
void fake_gnttab_reset(void);
void fake_evtchn_reset(void);
void fake_evtchn_unmapped(uint32_t local_port);

#endif
