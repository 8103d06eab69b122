/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kvm.h - what the commands of xl-vread(8) do on a host of KVM, where there are no domains of xl.
 * Called by list.c, attach.c, init/kvm.c, and by all commands that find no xenstore.
 *
 * Guests of KVM are sections [ivshmem NAME] of vread.conf(5), and their devices are QEMU's.
 */
#ifndef XL_VREAD_KVM_H
#define XL_VREAD_KVM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "control/config.h"

/* True if there is no Xen here, and either a guest of KVM is configured or KVM is there.  c may be
 * NULL. */
bool kvm_is_host(const struct config *c);
/* Loads vread.conf(5) if that can be done; config_free() it.  NULL: it cannot. */
struct config *kvm_config(void);
/* The section of that guest.  NULL: there is none; c may be NULL. */
const struct config_ivshmem *kvm_guest(const struct config *c, const char *name);
/* The state of the guest's device in vreadd's status.  NULL: no QEMU is connected. */
const char *kvm_device_state(const json_t *status, const char *guest);

/* Prints that xenstore cannot be reached, because of that errno, or, on a host of KVM, what there
 * is instead.  CLI_NO_PEER. */
int kvm_no_xenstore(int error);
/* Prints how the guest of that name gets its device, or loses it.  CLI_FAILED. */
int kvm_no_attach(const struct config *c, const char *name);
int kvm_no_detach(const char *name);
/* Prints the guests of KVM with their states.  CLI_OK, or an exit code of cli.h after printing what
 * is wrong. */
int kvm_list(const struct config *c);
/* Prints the device in QEMU's command line and in libvirt's XML, indented. */
void kvm_print_device(FILE *out, const char *socket, unsigned queues);

#endif
